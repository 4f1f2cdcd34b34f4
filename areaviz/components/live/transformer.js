// The encoder-decoder Transformer with area attention, as in areaviz/models/transformer.py. Source,
// target and output share their embeddings. Shapes: M source items, T target items, W width.

import { AreaMemory } from './attention.js';
import { sequenceGrid } from './area_grid.js';
import { UNCHANGED } from './interventions.js';
import { DecoderLayer, EncoderLayer, areaOptions, embed } from './layers.js';
import { linear, normOf, normalised, rowsOf } from './linear.js';
import { CROSS, DECODER_SELF, ENCODER_SELF } from './sites.js';
import { START } from './tokenizer.js';

/** @typedef {import('./beam.js').Stepper} Stepper */
/** @typedef {import('./interventions.js').Changes} Changes */
/** @typedef {import('./layers.js').TransformerConfig} TransformerConfig */
/** @typedef {import('./linear.js').Linear} Linear */
/** @typedef {import('./linear.js').Norm} Norm */
/** @typedef {import('./recording.js').Recording} Recording */
/** @typedef {import('./weights.js').Weights} Weights */
/** @typedef {{ layers: DecoderLayer[], norm: Norm, embedding: Linear }} Decoder */

/** The translator, from source tokens to logits of target tokens. */
export class Transformer {
  /**
   * @param {TransformerConfig} config
   * @param {Weights} weights
   */
  constructor(config, weights) {
    this.config = config;
    this.layers = config.layers;
    this.heads = config.heads;
    /** @type {Record<string, [string, string]>} */
    this.sites = {
      [ENCODER_SELF]: ['source', 'source'],
      [DECODER_SELF]: ['target', 'history'],
      [CROSS]: ['target', 'source'],
    };
    this.embedding = embeddingOf(weights);
    const layers = Array.from({ length: config.layers }, (_, layer) => areaOptions(config, layer));
    this.encoder = layers.map((areas, layer) => new EncoderLayer(weights, `encoder.${layer}`, areas));
    this.encoderNorm = normOf(weights, 'encoder_norm');
    /** @type {Decoder} */
    this.decoder = {
      layers: layers.map((areas, layer) => new DecoderLayer(weights, `decoder.${layer}`, areas, areas)),
      norm: normOf(weights, 'decoder_norm'),
      embedding: this.embedding,
    };
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
   * Return the logits [T, V] of a target, and record the weights of every site.
   * @param {{ source: number[] }} inputs
   * @param {number[]} target token ids, which begin with the start symbol
   * @param {Changes} changes
   * @param {Recording | null} recording
   */
  attend({ source }, target, changes = UNCHANGED, recording = null) {
    const memory = this.encode(source, changes, recording);
    return decode(this.decoder, memory, target, changes, recording);
  }

  /**
   * Return the encoder's output [M, W].
   * @param {number[]} source
   * @param {Changes} changes
   * @param {Recording | null} recording
   */
  encode(source, changes, recording = null) {
    let x = embed(this.embedding, source, (row) => row);
    this.encoder.forEach((layer, number) => {
      const record = recording?.layer(ENCODER_SELF, number);
      x = layer.apply(x, { changes: changes.at(ENCODER_SELF, number), record });
    });
    return normalised(this.encoderNorm, x);
  }

  /**
   * Return the decoder over a source, which writes one token at a time.
   * @param {{ source: number[] }} inputs
   * @param {Changes} changes
   */
  write({ source }, changes = UNCHANGED) {
    return new TransformerStepper(this.decoder, this.encode(source, changes), changes);
  }
}

/**
 * Return the shared embeddings as a linear layer from the output to logits.
 * @param {Weights} weights
 * @returns {Linear}
 */
export function embeddingOf(weights) {
  const { shape: [out, width], data } = weights.get('embedding.weight');
  return { weight: data, bias: null, width, out };
}

/**
 * Decode all tokens at once over one memory and return their logits [T, V].
 * @param {Decoder} decoder
 * @param {Float32Array} memory the encoder's output
 * @param {number[]} target
 * @param {Changes} changes
 * @param {Recording | null} recording
 */
export function decode({ layers, norm, embedding }, memory, target, changes, recording) {
  let x = embed(embedding, target, (row) => row);
  layers.forEach((layer, number) => {
    const [own, across] = [DECODER_SELF, CROSS].map((site) => (
      { changes: changes.at(site, number), record: recording?.layer(site, number) }));
    x = layer.apply(x, layer.crossAttention.remember(memory), own, across);
  });
  return linear(embedding, normalised(norm, x));
}

/**
 * The state of decoding: the histories of every layer, one a row, and the memories it attends to.
 * @implements {Stepper}
 */
export class TransformerStepper {
  /**
   * @param {Decoder} decoder
   * @param {Float32Array} memory the encoder's output
   * @param {Changes} changes
   */
  constructor(decoder, memory, changes) {
    this.decoder = decoder;
    this.memories = decoder.layers.map((layer) => layer.crossAttention.remember(memory));
    this.changes = decoder.layers.map((_, number) => (
      { own: changes.at(DECODER_SELF, number), across: changes.at(CROSS, number) }));
    /** @type {AreaMemory[][]} */
    this.histories = decoder.layers.map(() => []);
    this.position = 0;
  }

  /** @param {number[]} tokens */
  step(tokens) {
    const { layers, norm, embedding } = this.decoder;
    let x = embed(embedding, tokens, () => this.position);
    layers.forEach((layer, number) => {
      if (!this.position) this.histories[number] = tokens.map(() => new AreaMemory());
      x = layer.step(x, this.histories[number], this.memories[number], this.changes[number]);
    });
    this.position += 1;
    return rowsOf(linear(embedding, normalised(norm, x)), embedding.out).map(logProbabilities);
  }

  /** @param {number[]} rows */
  select(rows) {
    this.histories = this.histories.map((histories) => rows.map((row) => histories[row]));
  }
}

/**
 * Replace logits by log-probabilities. Padding, start and unknown symbol get -Infinity.
 * @param {Float32Array} logits
 */
export function logProbabilities(logits) {
  return logSoftmax(logits.fill(-Infinity, 0, START + 1));
}

/**
 * Replace logits by the logarithms of their softmax.
 * @param {Float32Array} logits
 */
export function logSoftmax(logits) {
  let largest = -Infinity, total = 0;
  for (const value of logits) if (value > largest) largest = value;
  for (const value of logits) total += Math.exp(value - largest);
  const norm = largest + Math.log(total);
  for (let id = 0; id < logits.length; id += 1) logits[id] -= norm;
  return logits;
}
