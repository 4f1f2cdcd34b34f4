// The layers of all Transformers (Vaswani et al. 2017) with area attention, as in
// areaviz/models/layers.py. Normalisation comes before each sublayer.

import { AreaMemory, MultiHeadAttention } from './attention.js';
import { addTo, linear, linearOf, normOf, normalised, rectify } from './linear.js';

/** @typedef {import('./attention.js').AreaOptions} AreaOptions */
/** @typedef {import('./area_weights.js').LayerRecord} LayerRecord */
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
  const hasAreas = layer < config.area_layers;
  return {
    heads: config.heads,
    most: hasAreas ? config.area_size : 1,
    keyMode: hasAreas ? config.key_mode : 'mean',
    shape,
  };
}

/** Two linear layers with a rectifier between them. */
class FeedForward {
  /**
   * @param {Weights} weights
   * @param {string} name
   */
  constructor(weights, name) {
    this.inner = linearOf(weights, `${name}.0`);
    this.outer = linearOf(weights, `${name}.2`);
  }

  /** @param {Float32Array} x */
  apply(x) {
    return linear(this.outer, rectify(linear(this.inner, x)));
  }
}

/** Self-attention and feed-forward, each with prior normalisation and a residual connection. */
export class EncoderLayer {
  /**
   * @param {Weights} weights
   * @param {string} name
   * @param {AreaOptions} areas
   */
  constructor(weights, name, areas) {
    this.selfAttention = new MultiHeadAttention(weights, `${name}.self_attention`, areas);
    this.feedForward = new FeedForward(weights, `${name}.feed_forward`);
    this.norms = [normOf(weights, `${name}.norms.0`), normOf(weights, `${name}.norms.1`)];
  }

  /**
   * Return the output for all items [M, W].
   * @param {Float32Array} x
   * @param {Site} site changes to the attention, and where its weights are stored
   * @param {boolean} isCausal whether an item attends only to itself and to earlier items
   */
  apply(x, site, isCausal = false) {
    const y = normalised(this.norms[0], x);
    const memory = this.selfAttention.remember(y);
    const attended = addTo(this.selfAttention.attend(y, memory, { isCausal, ...site }), x);
    return addTo(this.feedForward.apply(normalised(this.norms[1], attended)), attended);
  }

  /**
   * Return the output for one more item of every row [N, W].
   * @param {Float32Array} x
   * @param {AreaMemory[]} histories the memory of each row, which gets the new item
   * @param {LayerChanges | null} changes
   */
  step(x, histories, changes) {
    const y = normalised(this.norms[0], x);
    extend(histories, this.selfAttention.remember(y));
    const attended = addTo(this.selfAttention.step(y, histories, changes), x);
    return addTo(this.feedForward.apply(normalised(this.norms[1], attended)), attended);
  }
}

/** Causal self-attention, attention to the encoder's output, and feed-forward. */
export class DecoderLayer {
  /**
   * @param {Weights} weights
   * @param {string} name
   * @param {AreaOptions} areas the areas of the output
   * @param {AreaOptions} memoryAreas the areas of the encoder's output
   */
  constructor(weights, name, areas, memoryAreas) {
    this.selfAttention = new MultiHeadAttention(weights, `${name}.self_attention`, areas);
    this.crossAttention = new MultiHeadAttention(weights, `${name}.cross_attention`, memoryAreas);
    this.feedForward = new FeedForward(weights, `${name}.feed_forward`);
    this.norms = [0, 1, 2].map((number) => normOf(weights, `${name}.norms.${number}`));
  }

  /**
   * Return the output for all items [T, W].
   * @param {Float32Array} x
   * @param {AreaMemory} memory the encoder's output
   * @param {Site} own changes and weights of the attention to the output so far
   * @param {Site} across changes and weights of the attention to the memory
   */
  apply(x, memory, own, across) {
    const y = normalised(this.norms[0], x);
    const history = this.selfAttention.remember(y);
    const looked = addTo(this.selfAttention.attend(y, history, { isCausal: true, ...own }), x);
    const asked = normalised(this.norms[1], looked);
    const attended = addTo(this.crossAttention.attend(asked, memory, across), looked);
    return addTo(this.feedForward.apply(normalised(this.norms[2], attended)), attended);
  }

  /**
   * Return the output for one more item of every row [N, W].
   * @param {Float32Array} x
   * @param {AreaMemory[]} histories the history of each row, which gets the new item
   * @param {AreaMemory} memory the encoder's output
   * @param {{ own: LayerChanges | null, across: LayerChanges | null }} changes
   */
  step(x, histories, memory, { own, across }) {
    const y = normalised(this.norms[0], x);
    extend(histories, this.selfAttention.remember(y));
    const looked = addTo(this.selfAttention.step(y, histories, own), x);
    const asked = normalised(this.norms[1], looked);
    const memories = histories.map(() => memory);
    const attended = addTo(this.crossAttention.step(asked, memories, across), looked);
    return addTo(this.feedForward.apply(normalised(this.norms[2], attended)), attended);
  }
}

/**
 * Add one item to the history of every row, in place.
 * @param {AreaMemory[]} histories
 * @param {AreaMemory} newest the keys and values of the new items, one a row
 */
function extend(histories, newest) {
  for (let row = 0; row < histories.length; row += 1) histories[row] = histories[row].with(newest, row);
}

/**
 * Return tokens with their positions [R, W]: embeddings times sqrt(W), plus sinusoids.
 * @param {Linear} embedding the shared embeddings, one row a token
 * @param {number[]} ids
 * @param {(row: number) => number} position
 * @returns {Float32Array}
 */
export function embed({ weight, width }, ids, position) {
  const x = new Float32Array(ids.length * width);
  const half = width / 2, factor = Math.fround(Math.sqrt(width));
  const step = Math.fround(-Math.log(10000) / width);
  // Rates and angles are rounded as PyTorch rounds them, because a sine of a large angle shows it.
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
