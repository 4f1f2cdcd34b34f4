// The decoder-only Transformer, a language model with area attention, as in
// areaviz/models/text_decoder.py.

import { Layer, areaOptions } from './layers.js';
import { normOf } from './linear.js';
import { DECODER_SELF } from './sites.js';
import { DecodingNetwork, embeddingOf } from './transformer.js';

/** @typedef {import('./layers.js').TransformerConfig} TransformerConfig */
/** @typedef {import('./weights.js').Weights} Weights */

/** The language model. The text that it continues is the beginning of its output. */
export class LanguageNetwork extends DecodingNetwork {
  /**
   * @param {TransformerConfig} config
   * @param {Weights} weights
   */
  constructor(config, weights) {
    const layers = Array.from({ length: config.layers }, (_, layer) => (
      new Layer(weights, `decoder.${layer}`, areaOptions(config, layer))));
    const decoder = { layers, norm: normOf(weights, 'norm'), embedding: embeddingOf(weights) };
    super(config, { [DECODER_SELF]: ['target', 'history'] }, decoder);
    /** The largest number of tokens of a continuation. */
    this.longest = 24;
  }
}
