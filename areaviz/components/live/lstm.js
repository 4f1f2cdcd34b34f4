// The LSTM translator with attention to areas, as in areaviz/models/lstm.py. The top layer of the
// decoder attends to the top layer of the encoder, and the context is not fed back.

import { MultiHeadAttention } from './attention.js';
import { addTo, joined, linear, linearOf, rowsOf, tanhOf } from './linear.js';
import { RecurrentNetwork, advancedLayers, cellOf, embedWords, readItems, topOf } from './recurrent.js';
import { CROSS } from './sites.js';
import { embeddingOf } from './transformer.js';

/** @typedef {import('./attention.js').AreaMemory} AreaMemory */
/** @typedef {import('./area_weights.js').LayerRecord} LayerRecord */
/** @typedef {import('./interventions.js').Changes} Changes */
/** @typedef {import('./recurrent.js').Begun} Begun */
/** @typedef {import('./recurrent.js').State} State */
/** @typedef {import('./weights.js').Weights} Weights */
/**
 * @typedef {object} LstmConfig the options of a card
 * @property {number} depth
 * @property {number} width
 * @property {number} heads
 * @property {number} area_size
 * @property {string} key_mode
 */

/** The translator, from source tokens to logits of target tokens. */
export class LstmTranslator extends RecurrentNetwork {
  /**
   * @param {LstmConfig} config
   * @param {Weights} weights
   */
  constructor(config, weights) {
    super(config.heads, config.area_size);
    this.config = config;
    this.embedding = embeddingOf(weights);
    const cells = (/** @type {string} */ name) => (
      Array.from({ length: config.depth }, (_, layer) => cellOf(weights, name, layer, 'lstm')));
    this.encoder = cells('encoder');
    this.decoder = cells('decoder');
    this.start = linearOf(weights, 'start');
    const areas = { heads: config.heads, most: config.area_size, keyMode: config.key_mode, shape: null };
    this.cross = new MultiHeadAttention(weights, 'cross', areas);
    this.hiddenOut = linearOf(weights, 'hidden_out');
  }

  /**
   * Return the items to attend to, and the decoder's first state: hidden and cell of every layer.
   * @param {number[]} source
   * @param {Changes} changes
   */
  read(source, changes) {
    const words = embedWords(this.embedding, source);
    const { items, last } = readItems(this.encoder, words, changes.hidden('source'));
    const { depth, width } = this.config;
    // First the hidden states of all layers, then their cells.
    const parts = rowsOf(tanhOf(linear(this.start, last)), width);
    /** @type {State} */
    const state = [];
    for (let layer = 0; layer < depth; layer += 1) state.push(parts[layer], parts[depth + layer]);
    return { memory: this.cross.remember(joined(...items)), state };
  }

  /**
   * Return logits from the decoder's top layer and the context.
   * @param {Float32Array} top
   * @param {Float32Array} context
   */
  readOut(top, context) {
    return linear(this.embedding, tanhOf(addTo(linear(this.hiddenOut, top), context)));
  }

  /**
   * Return the decoder over a source.
   * @param {{ source: number[] }} inputs
   * @param {Changes} changes
   * @param {LayerRecord | null} record where weights are stored
   * @returns {Begun}
   */
  begin({ source }, changes, record) {
    const { memory, state } = this.read(source, changes), own = changes.at(CROSS, 0);
    return {
      state,
      advance: (ids, states, query) => {
        const found = advancedLayers(this.decoder, embedWords(this.embedding, ids), states);
        const top = topOf(found);
        const context = this.cross.step(top, ids.map(() => memory), own, { record, query });
        return { logits: this.readOut(top, context), states: found };
      },
    };
  }
}
