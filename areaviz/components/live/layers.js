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
