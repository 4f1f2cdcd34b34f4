// The recurrent language model, whose states attend to areas of the states up to them, as in
// areaviz/models/recurrent_text_decoder.py.

import { AreaMemory, MultiHeadAttention } from './attention.js';
import { addTo, linear, linearOf, tanhOf } from './linear.js';
import { RecurrentNetwork, advancedLayers, cellOf, embedWords, topOf } from './recurrent.js';
import { DECODER_SELF } from './sites.js';
import { embeddingOf } from './transformer.js';

/** @typedef {import('./area_weights.js').LayerRecord} LayerRecord */
/** @typedef {import('./interventions.js').Changes} Changes */
/** @typedef {import('./recurrent.js').State} State */
/** @typedef {import('./weights.js').Weights} Weights */
/**
 * @typedef {object} RecurrentTextConfig the options of a card
 * @property {number} depth
 * @property {number} width
 * @property {number} heads
 * @property {number} area_size
 * @property {string} key_mode
 */
/**
 * @typedef {object} Past what a row has read
 * @property {State} cells the states of the LSTM
 * @property {AreaMemory} memory its states after every token
 */

/** The language model. The text that it continues is the beginning of its output. */
export class RecurrentLanguageNetwork extends RecurrentNetwork {
  /**
   * @param {RecurrentTextConfig} config
   * @param {Weights} weights
   */
  constructor(config, weights) {
    super(config.heads, config.area_size);
    const { depth, width, heads } = config;
    /** @type {Record<string, [string, string]>} */
    this.sites = { [DECODER_SELF]: ['target', 'history'] };
    /** The largest number of tokens of a continuation. */
    this.longest = 24;
    this.embedding = embeddingOf(weights);
    this.cells = Array.from({ length: depth }, (_, layer) => cellOf(weights, 'reader', layer, 'lstm'));
    this.start = Array.from({ length: 2 * depth }, () => new Float32Array(width));
    const areas = { heads, most: config.area_size, keyMode: config.key_mode, shape: null };
    this.attention = new MultiHeadAttention(weights, 'attention', areas);
    this.hiddenOut = linearOf(weights, 'hidden_out');
  }

  /**
   * Return the decoder at the beginning of a text.
   * @param {any} inputs nothing, because all of the text is output
   * @param {Changes} changes
   * @param {LayerRecord | null} record where weights are stored
   * @returns {any} see `Begun`, with a `Past` as the state of a row
   */
  begin(inputs, changes, record) {
    const own = changes.at(DECODER_SELF, 0), hidden = changes.hidden('history');
    return {
      state: { cells: this.start, memory: new AreaMemory() },
      advance: (/** @type {number[]} */ ids, /** @type {Past[]} */ pasts, /** @type {number | null} */ query) => {
        const before = pasts.map(({ cells }) => cells);
        // The LSTM skips a hidden token, so its state after one is the state before it.
        const isHidden = hidden.has(pasts[0].memory.count);
        const cells = isHidden ? before : advancedLayers(this.cells, embedWords(this.embedding, ids), before);
        const top = topOf(cells), newest = this.attention.remember(top);
        const memories = pasts.map(({ memory }, row) => memory.with(newest, row));
        const context = this.attention.step(top, memories, own, { record, query });
        const logits = linear(this.embedding, tanhOf(addTo(linear(this.hiddenOut, top), context)));
        return { logits, states: cells.map((state, row) => ({ cells: state, memory: memories[row] })) };
      },
    };
  }
}
