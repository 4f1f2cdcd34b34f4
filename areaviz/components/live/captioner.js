// The captioning Transformer, from pixels to words, as in areaviz/models/captioner.py. Areas are
// rectangles of the picture's cells. Attention to the written words has single items.

import { AreaGrid, sequenceGrid } from './area_grid.js';
import { Layer, areaOptions } from './layers.js';
import { addTo, linear, linearOf, normOf, normalised } from './linear.js';
import { PictureEncoder } from './picture_encoder.js';
import { resizedPixels } from './resize.js';
import { DecodingNetwork, embeddingOf, encode, encoderSites } from './transformer.js';

/** @typedef {import('./interventions.js').Changes} Changes */
/** @typedef {import('./layers.js').TransformerConfig} TransformerConfig */
/** @typedef {import('./recording.js').Recording} Recording */
/** @typedef {import('./resize.js').Picture} Picture */
/** @typedef {import('./weights.js').Weights} Weights */
/** @typedef {TransformerConfig & { grid: number, encoder: import('./picture_encoder.js').EncoderConfig }} CaptionerConfig */

/** The captioner, from pixels to words. */
export class CaptionTransformer extends DecodingNetwork {
  /**
   * @param {CaptionerConfig} config
   * @param {Weights} weights
   */
  constructor(config, weights) {
    const norms = [0, 1, 2].map((number) => normOf(weights, `norms.${number}`));
    const single = { heads: config.heads, most: 1, keyMode: 'mean', shape: null };
    const areas = Array.from({ length: config.layers }, (_, layer) => (
      areaOptions(config, layer, [config.grid, config.grid])));
    super(config, encoderSites('picture'), {
      layers: areas.map((own, layer) => new Layer(weights, `decoder.${layer}`, single, own)),
      norm: norms[2],
      embedding: embeddingOf(weights),
    });
    /** The largest number of words of a caption. */
    this.longest = 30;
    this.norms = norms;
    this.grid = config.grid;
    this.pictures = new PictureEncoder(config.encoder, config.grid, weights);
    this.enter = linearOf(weights, 'enter');
    this.place = weights.data('place');
    this.encoder = areas.map((own, layer) => new Layer(weights, `encoder.${layer}`, own));
  }

  /**
   * Return the areas of a field in the first layer; only the picture has areas.
   * @param {string} field
   * @param {number} items
   */
  areas(field, items) {
    return field === 'picture' ? new AreaGrid(this.grid, this.grid, this.areaSize, this.areaSize)
      : sequenceGrid(items, 1);
  }

  /**
   * @param {{ picture: Picture }} inputs
   * @param {Changes} changes
   * @param {Recording | null} recording
   */
  encode({ picture }, changes, recording = null) {
    const { side } = this.pictures, features = this.pictures.encode(resizedPixels(picture, side, side));
    const items = addTo(normalised(this.norms[0], linear(this.enter, features)), this.place);
    return encode(this.encoder, this.norms[1], items, changes, recording);
  }
}
