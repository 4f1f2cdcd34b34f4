// The LSTM translator with attention to areas, as in areaviz/models/lstm.py. The top layer of the
// decoder attends to the top layer of the encoder, and the context is not fed back.

import { MultiHeadAttention } from './attention.js';
import { sequenceGrid } from './area_grid.js';
import { UNCHANGED } from './interventions.js';
import { addTo, linear, linearOf, rowsOf, stacked, tanhOf } from './linear.js';
import { CROSS_SITES, RecurrentStepper, advanceRows, cellOf, embedWords, readItems } from './recurrent.js';
import { CROSS } from './sites.js';
import { embeddingOf } from './transformer.js';

/** @typedef {import('./attention.js').AreaMemory} AreaMemory */
/** @typedef {import('./interventions.js').Changes} Changes */
/** @typedef {import('./recording.js').Recording} Recording */
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
export class LstmTranslator {
  /**
   * @param {LstmConfig} config
   * @param {Weights} weights
   */
  constructor(config, weights) {
    this.config = config;
    this.layers = 1;
    this.heads = config.heads;
    this.sites = CROSS_SITES;
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
   * Return the areas that are formed in a field.
   * @param {string} field
   * @param {number} items
   */
  areas(field, items) {
    return sequenceGrid(items, this.config.area_size);
  }

  /**
   * Return the logits [T, V] of a target, and record the weights.
   * @param {{ source: number[] }} inputs
   * @param {number[]} target token ids, which begin with the start symbol
   * @param {Changes} changes
   * @param {Recording | null} recording
   */
  attend({ source }, target, changes = UNCHANGED, recording = null) {
    const { memory, state } = this.read(source, changes);
    const tops = [];
    let states = [state];
    for (const word of rowsOf(embedWords(this.embedding, target), this.embedding.width)) {
      states = this.next(word, states);
      tops.push(states[0][2 * (this.config.depth - 1)]);
    }
    const top = stacked(tops, this.config.width);
    const record = recording?.layer(CROSS, 0);
    const context = this.cross.attend(top, memory, { changes: changes.at(CROSS, 0), record });
    return this.readOut(top, context);
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
    return { memory: this.cross.remember(stacked(items, width)), state };
  }

  /**
   * Return the states of rows after one more token of each.
   * @param {Float32Array} words [N, W]
   * @param {State[]} states
   */
  next(words, states) {
    let x = words;
    /** @type {State[]} */
    const found = states.map(() => []);
    this.decoder.forEach((cell, layer) => {
      const own = states.map((state) => state.slice(2 * layer, 2 * layer + 2));
      const after = advanceRows(cell, x, own);
      after.forEach((state, row) => found[row].push(...state));
      x = stacked(after.map(([hidden]) => hidden), cell.width);
    });
    return found;
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
   * Return the decoder over a source, which writes one token at a time.
   * @param {{ source: number[] }} inputs
   * @param {Changes} changes
   */
  write({ source }, changes = UNCHANGED) {
    const { memory, state } = this.read(source, changes);
    const own = changes.at(CROSS, 0);
    return new RecurrentStepper((ids, states) => {
      const found = this.next(embedWords(this.embedding, ids), states);
      const top = stacked(found.map((one) => one[one.length - 2]), this.config.width);
      const context = this.cross.step(top, ids.map(() => memory), own);
      return { logits: this.readOut(top, context), states: found };
    }, state);
  }
}
