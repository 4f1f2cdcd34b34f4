// The decoder-only Transformer, a language model with area attention, as in
// areaviz/models/text_decoder.py.

import { AreaMemory } from './attention.js';
import { sequenceGrid } from './area_grid.js';
import { UNCHANGED } from './interventions.js';
import { EncoderLayer, areaOptions, embed } from './layers.js';
import { linear, normOf, normalised, rowsOf } from './linear.js';
import { DECODER_SELF } from './sites.js';
import { embeddingOf, logProbabilities } from './transformer.js';

/** @typedef {import('./beam.js').Stepper} Stepper */
/** @typedef {import('./interventions.js').Changes} Changes */
/** @typedef {import('./layers.js').TransformerConfig} TransformerConfig */
/** @typedef {import('./recording.js').Recording} Recording */
/** @typedef {import('./weights.js').Weights} Weights */

/** The language model. A text to continue is the beginning of its output. */
export class LanguageNetwork {
  /**
   * @param {TransformerConfig} config
   * @param {Weights} weights
   */
  constructor(config, weights) {
    this.config = config;
    this.layers = config.layers;
    this.heads = config.heads;
    /** The largest number of tokens of a continuation. */
    this.longest = 24;
    /** @type {Record<string, [string, string]>} */
    this.sites = { [DECODER_SELF]: ['target', 'history'] };
    this.embedding = embeddingOf(weights);
    this.stack = Array.from({ length: config.layers }, (_, layer) => (
      new EncoderLayer(weights, `decoder.${layer}`, areaOptions(config, layer))));
    this.norm = normOf(weights, 'norm');
  }

  /**
   * Return the areas of a field in the first layer, which has the largest areas.
   * @param {string} field
   * @param {number} items
   */
  areas(field, items) {
    return sequenceGrid(items, this.config.area_layers ? this.config.area_size : 1);
  }

  /**
   * Return the logits [T, V] of a text, and record the weights.
   * @param {object} inputs nothing
   * @param {number[]} target token ids, which begin with the start symbol
   * @param {Changes} changes
   * @param {Recording | null} recording
   */
  attend(inputs, target, changes = UNCHANGED, recording = null) {
    let x = embed(this.embedding, target, (row) => row);
    this.stack.forEach((layer, number) => {
      const site = { changes: changes.at(DECODER_SELF, number), record: recording?.layer(DECODER_SELF, number) };
      x = layer.apply(x, site, true);
    });
    return linear(this.embedding, normalised(this.norm, x));
  }

  /**
   * Return the network as a decoder that writes one token at a time.
   * @param {object} inputs nothing
   * @param {Changes} changes
   */
  write(inputs, changes = UNCHANGED) {
    return new TextStepper(this, changes);
  }
}

/**
 * The state of decoding: each layer's history of the text so far, one a row.
 * @implements {Stepper}
 */
class TextStepper {
  /**
   * @param {LanguageNetwork} network
   * @param {Changes} changes
   */
  constructor(network, changes) {
    this.network = network;
    this.changes = network.stack.map((_, number) => changes.at(DECODER_SELF, number));
    /** @type {AreaMemory[][]} */
    this.histories = network.stack.map(() => []);
    this.position = 0;
  }

  /** @param {number[]} tokens */
  step(tokens) {
    const { embedding, stack, norm } = this.network;
    let x = embed(embedding, tokens, () => this.position);
    stack.forEach((layer, number) => {
      if (!this.position) this.histories[number] = tokens.map(() => new AreaMemory());
      x = layer.step(x, this.histories[number], this.changes[number]);
    });
    this.position += 1;
    return rowsOf(linear(embedding, normalised(norm, x)), embedding.out).map(logProbabilities);
  }

  /** @param {number[]} rows */
  select(rows) {
    this.histories = this.histories.map((histories) => rows.map((row) => histories[row]));
  }
}
