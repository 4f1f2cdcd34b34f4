// The layers of all Transformers (Vaswani et al. 2017) with area attention, as in
// areaviz/models/network.py. Normalisation comes before each sublayer.

import { UNCHANGED } from './interventions.js';
import { addTo, linear, linearOf, normOf, normalised, rectify, rowsOf } from './linear.js';
import { START } from './tokenizer.js';
import { AreaMemory, MultiHeadAttention, sequenceGrid } from './attention.js';

/** @typedef {import('./attention.js').AreaOptions} AreaOptions */
/** @typedef {import('./attention.js').LayerRecord} LayerRecord */
/** @typedef {import('./interventions.js').LayerChanges} LayerChanges */
/** @typedef {import('./linear.js').Linear} Linear */
/** @typedef {import('./linear.js').Norm} Norm */
/** @typedef {import('./weights.js').Weights} Weights */
/**
 * @typedef {object} TransformerConfig the options of a card that the layers read
 * @property {number} vocabulary
 * @property {number} layers
 * @property {number} width
 * @property {number} heads
 * @property {number} area_size
 * @property {number} area_layers
 * @property {string} key_mode
 */
/** @typedef {{ changes?: LayerChanges | null, record?: LayerRecord | null }} Site */

/**
 * Return the areas of a layer.
 * @param {TransformerConfig} config
 * @param {number} layer
 * @param {[number, number] | null} shape rows and columns of the memory; null for a sequence
 * @returns {AreaOptions}
 */
export function areaOptions(config, layer, shape = null) {
  const { heads, area_layers: layers, area_size: most, key_mode: keyMode } = config;
  return layer < layers ? { heads, most, keyMode, shape } : { heads, most: 1, keyMode: 'mean', shape };
}

/** Self-attention, attention to a memory in decoders that have one, and feed-forward. */
export class Layer {
  /**
   * @param {Weights} weights
   * @param {string} name
   * @param {AreaOptions} areas the areas of the layer's own items
   * @param {AreaOptions | null} memoryAreas the areas of the memory; null for a layer without one
   */
  constructor(weights, name, areas, memoryAreas = null) {
    this.selfAttention = new MultiHeadAttention(weights, `${name}.self_attention`, areas);
    this.crossAttention = memoryAreas && new MultiHeadAttention(weights, `${name}.cross_attention`, memoryAreas);
    this.feedForward = ['0', '2'].map((part) => linearOf(weights, `${name}.feed_forward.${part}`));
    const norms = memoryAreas ? [0, 1, 2] : [0, 1];
    this.norms = norms.map((number) => normOf(weights, `${name}.norms.${number}`));
  }

  /**
   * Return the output for all items [T, W].
   * @param {Float32Array} x
   * @param {Site} own changes and weights of the attention to the layer's own items
   * @param {boolean} isCausal whether an item attends only to itself and to earlier items
   * @param {{ memory: AreaMemory, site: Site } | null} across the memory that it also attends to
   */
  apply(x, own, isCausal = false, across = null) {
    const y = normalised(this.norms[0], x);
    const memory = this.selfAttention.remember(y);
    const looked = addTo(this.selfAttention.attend(y, memory, { isCausal, ...own }), x);
    if (!this.crossAttention || !across) return this.fed(looked);
    const asked = normalised(this.norms[1], looked);
    return this.fed(addTo(this.crossAttention.attend(asked, across.memory, across.site), looked));
  }

  /**
   * Return the output for one more item of every row [N, W].
   * @param {Float32Array} x
   * @param {AreaMemory[]} histories the history of each row, which gets the new item
   * @param {{ own: LayerChanges | null, across: LayerChanges | null }} changes
   * @param {AreaMemory | null} memory
   */
  step(x, histories, changes, memory = null) {
    const y = normalised(this.norms[0], x);
    extend(histories, this.selfAttention.remember(y));
    const looked = addTo(this.selfAttention.step(y, histories, changes.own), x);
    if (!this.crossAttention || !memory) return this.fed(looked);
    const asked = normalised(this.norms[1], looked), memories = histories.map(() => memory);
    return this.fed(addTo(this.crossAttention.step(asked, memories, changes.across), looked));
  }

  /**
   * Return the output of two linear layers with a rectifier between them, added to their input.
   * @param {Float32Array} x
   */
  fed(x) {
    const [inner, outer] = this.feedForward, norm = this.norms[this.norms.length - 1];
    return addTo(linear(outer, rectify(linear(inner, normalised(norm, x)))), x);
  }
}

/**
 * Add one item to the history of every row, in place.
 * @param {AreaMemory[]} histories
 * @param {AreaMemory} newest the keys and values of the new items, one per row
 */
function extend(histories, newest) {
  for (let row = 0; row < histories.length; row += 1) histories[row] = histories[row].with(newest, row);
}

/**
 * Return tokens with their positions [R, W]: embeddings times sqrt(W), plus sinusoids.
 * @param {Linear} embedding the shared embeddings, one row per token
 * @param {number[]} ids
 * @param {(row: number) => number} position
 * @returns {Float32Array}
 */
export function embed({ weight, width }, ids, position) {
  const x = new Float32Array(ids.length * width);
  const half = width / 2, factor = Math.fround(Math.sqrt(width));
  const step = Math.fround(-Math.log(10000) / width);
  // Round rates and angles as PyTorch does, because rounding changes the sine of a large angle.
  const rates = Float32Array.from({ length: half }, (_, i) => Math.exp(Math.fround(2 * i * step)));
  ids.forEach((id, row) => {
    for (let i = 0; i < width; i += 1) {
      const angle = Math.fround(position(row) * rates[i % half]);
      const place = i < half ? Math.sin(angle) : Math.cos(angle);
      x[row * width + i] = Math.fround(weight[id * width + i] * factor) + place;
    }
  });
  return x;
}

// Names of sites, the places in a network where attention happens.

export const ENCODER_SELF = 'encoder self', DECODER_SELF = 'decoder self', CROSS = 'encoder-decoder';

// The encoder-decoder Transformer with area attention, as in areaviz/models/translation.py. Source,
// target and output share their embeddings. Shapes: M source items, T target items, W width.


/** @typedef {import('./beam.js').Stepper} Stepper */
/** @typedef {import('./interventions.js').Changes} Changes */
/** @typedef {import('./recording.js').Recording} Recording */
/** @typedef {{ layers: Layer[], norm: Norm, embedding: Linear }} Decoder */

/** A decoder of a Transformer, with an encoder that it attends to if there is one. */
export class DecodingNetwork {
  /**
   * @param {TransformerConfig} config
   * @param {Record<string, [string, string]>} sites the query and memory field of every site
   * @param {Decoder} decoder
   */
  constructor(config, sites, decoder) {
    this.areaSize = config.area_layers ? config.area_size : 1;
    this.layers = config.layers;
    this.heads = config.heads;
    this.sites = sites;
    this.decoder = decoder;
  }

  /**
   * Return the areas of a field in the first layer, which has the largest areas.
   * @param {string} field
   * @param {number} items
   */
  areas(field, items) {
    return sequenceGrid(items, this.areaSize);
  }

  /**
   * Return the encoder's output [M, W], or null without an encoder.
   * @param {any} inputs what the network reads, by field
   * @param {Changes} changes
   * @param {Recording | null} recording
   * @returns {Float32Array | null}
   */
  encode(inputs, changes, recording = null) {
    return null;
  }

  /**
   * Return the logits [T, V] of a target, and record the weights of every site.
   * @param {any} inputs
   * @param {number[]} target token ids, which begin with the start symbol
   * @param {Changes} changes
   * @param {Recording | null} recording
   */
  attend(inputs, target, changes = UNCHANGED, recording = null) {
    return decode(this.decoder, this.encode(inputs, changes, recording), target, changes, recording);
  }

  /**
   * Return the decoder over these inputs, which writes one token at a time.
   * @param {any} inputs
   * @param {Changes} changes
   */
  write(inputs, changes = UNCHANGED) {
    return new TransformerStepper(this.decoder, this.encode(inputs, changes), changes);
  }
}

/**
 * Return the sites of a network with an encoder.
 * @param {string} memory the field that the encoder reads
 * @returns {Record<string, [string, string]>}
 */
export function encoderSites(memory) {
  return { [ENCODER_SELF]: [memory, memory], [DECODER_SELF]: ['target', 'history'], [CROSS]: ['target', memory] };
}

/** The translator, from source tokens to logits of target tokens. */
export class Transformer extends DecodingNetwork {
  /**
   * @param {TransformerConfig} config
   * @param {Weights} weights
   */
  constructor(config, weights) {
    const areas = Array.from({ length: config.layers }, (_, layer) => areaOptions(config, layer));
    super(config, encoderSites('source'), {
      layers: areas.map((own, layer) => new Layer(weights, `decoder.${layer}`, own, own)),
      norm: normOf(weights, 'decoder_norm'),
      embedding: embeddingOf(weights),
    });
    this.encoder = areas.map((own, layer) => new Layer(weights, `encoder.${layer}`, own));
    this.encoderNorm = normOf(weights, 'encoder_norm');
  }

  /**
   * @param {{ source: number[] }} inputs
   * @param {Changes} changes
   * @param {Recording | null} recording
   */
  encode({ source }, changes, recording = null) {
    const items = embed(this.decoder.embedding, source, (row) => row);
    return encode(this.encoder, this.encoderNorm, items, changes, recording);
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
 * Return the output of an encoder [M, W].
 * @param {Layer[]} layers
 * @param {Norm} norm
 * @param {Float32Array} items
 * @param {Changes} changes
 * @param {Recording | null} recording
 */
export function encode(layers, norm, items, changes, recording) {
  let x = items;
  layers.forEach((layer, number) => {
    x = layer.apply(x, { changes: changes.at(ENCODER_SELF, number), record: recording?.layer(ENCODER_SELF, number) });
  });
  return normalised(norm, x);
}

/**
 * Decode all tokens at once and return their logits [T, V].
 * @param {Decoder} decoder
 * @param {Float32Array | null} memory the encoder's output; null for a decoder on its own
 * @param {number[]} target
 * @param {Changes} changes
 * @param {Recording | null} recording
 */
function decode({ layers, norm, embedding }, memory, target, changes, recording) {
  let x = embed(embedding, target, (row) => row);
  layers.forEach((layer, number) => {
    const siteOf = (/** @type {string} */ site) => (
      { changes: changes.at(site, number), record: recording?.layer(site, number) });
    const across = layer.crossAttention && memory
      ? { memory: layer.crossAttention.remember(memory), site: siteOf(CROSS) } : null;
    x = layer.apply(x, siteOf(DECODER_SELF), true, across);
  });
  return linear(embedding, normalised(norm, x));
}

/**
 * The state of decoding: the histories of every layer, one a row, and the memories it attends to.
 * @implements {Stepper}
 */
class TransformerStepper {
  /**
   * @param {Decoder} decoder
   * @param {Float32Array | null} memory the encoder's output; null for a decoder on its own
   * @param {Changes} changes
   */
  constructor(decoder, memory, changes) {
    this.decoder = decoder;
    this.memories = decoder.layers.map(({ crossAttention }) => memory && crossAttention && crossAttention.remember(memory));
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
      x = layer.step(x, this.histories[number], this.changes[number], this.memories[number]);
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
