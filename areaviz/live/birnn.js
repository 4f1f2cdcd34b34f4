// The recurrent translator of Bahdanau et al. 2015 with or without additive attention, as in
// areaviz/models/translation.py: score(q, m) = v . tanh(W q + U m).

import { addValues, softmax, store, sequenceGrid } from './attention.js';
import { addTo, dot, joined, linear, linearOf, rowsOf, tanhOf } from './linear.js';
import { RecurrentNetwork, cellOf, embedWords, nextGru, readItems } from './recurrent.js';
import { CROSS, embeddingOf } from './transformer.js';

/** @typedef {import('./attention.js').LayerRecord} LayerRecord */
/** @typedef {import('./interventions.js').Changes} Changes */
/** @typedef {import('./interventions.js').LayerChanges} LayerChanges */
/** @typedef {import('./recurrent.js').Begun} Begun */
/** @typedef {import('./recurrent.js').State} State */
/** @typedef {import('./weights.js').Weights} Weights */
/**
 * @typedef {object} Read the encoder's output
 * @property {Float32Array} ends the last states of both directions [C]
 * @property {Float32Array[]} values the items [M, C]
 * @property {Float32Array[]} keys the items' parts of the scores [M, D]
 * @property {LayerChanges | null} changes
 */

/** The translator, from source tokens to logits of target tokens. */
export class Birnn extends RecurrentNetwork {
  /**
   * @param {{ attention: string, width: number }} config
   * @param {Weights} weights
   */
  constructor(config, weights) {
    const hasAttention = config.attention !== 'none';
    super(1, 1, hasAttention);
    this.config = config;
    this.embedding = embeddingOf(weights);
    this.forwards = [cellOf(weights, 'forwards', 0, 'gru')];
    this.backwards = [cellOf(weights, 'backwards', 0, 'gru')];
    const part = (/** @type {string} */ name) => linearOf(weights, name);
    this.start = part('start');
    this.attention = hasAttention
      ? { query: part('attention.query'), key: part('attention.key'), score: part('attention.score') }
      : null;
    this.wordGates = part('word_gates');
    this.contextGates = part('context_gates');
    this.hiddenGates = part('hidden_gates');
    this.hiddenOut = part('hidden_out');
    this.contextOut = part('context_out');
  }

  /**
   * Return the encoder's output and the decoder's first state.
   * @param {number[]} source
   * @param {Changes} changes
   * @returns {{ read: Read, state: State }}
   */
  read(source, changes) {
    const words = embedWords(this.embedding, source), hidden = changes.hidden('source');
    const ahead = readItems(this.forwards, words, hidden);
    const back = readItems(this.backwards, words, hidden, true);
    const ends = joined(ahead.last, back.last);
    const values = ahead.items.map((item, number) => joined(item, back.items[number]));
    const keys = this.attention
      ? rowsOf(linear(this.attention.key, joined(...values)), this.attention.key.out) : [];
    const read = { ends, values, keys, changes: changes.at(CROSS, 0) };
    return { read, state: [tanhOf(linear(this.start, ends))] };
  }

  /**
   * Return the context [C] of one row before its next token, and record its weights.
   * @param {Float32Array} hidden
   * @param {Read} read
   * @param {number | null} time null while the model writes
   * @param {LayerRecord | null} record
   */
  look(hidden, { ends, values, keys, changes }, time, record) {
    if (!this.attention) return ends;
    const { query, score } = this.attention;
    const asked = linear(query, hidden);
    const logits = Float64Array.from(keys, (key) => (
      dot(score.weight, 0, tanhOf(key.map((part, i) => part + asked[i])), 0, asked.length)));
    const grid = sequenceGrid(keys.length, 1);
    const weights = softmax(logits, changes && changes.factors(grid, 0, time));
    if (record) store(weights, grid, record, record.first(0, time ?? 0));
    const gate = changes ? changes.gate(0) : 1;
    const context = new Float32Array(ends.length);
    addValues(weights, values, context, 0, ends.length, gate);
    return context;
  }

  /**
   * Return the states of rows after one more token and its context.
   * @param {Float32Array} words [N, W]
   * @param {Float32Array} contexts [N, C]
   * @param {Float32Array[]} hiddens
   * @returns {State[]}
   */
  next(words, contexts, hiddens) {
    const { width } = this.config;
    const gates = addTo(linear(this.wordGates, words), linear(this.contextGates, contexts));
    const inputs = rowsOf(gates, 3 * width);
    const before = rowsOf(linear(this.hiddenGates, joined(...hiddens)), 3 * width);
    return hiddens.map((hidden, row) => nextGru(inputs[row], before[row], [hidden]));
  }

  /**
   * Return logits from the last tokens, the states and the contexts.
   * @param {Float32Array} words
   * @param {Float32Array} hidden
   * @param {Float32Array} context
   */
  readOut(words, hidden, context) {
    const mixed = addTo(linear(this.hiddenOut, hidden), linear(this.contextOut, context));
    return linear(this.embedding, tanhOf(addTo(mixed, words)));
  }

  /**
   * Return the decoder over a source.
   * @param {{ source: number[] }} inputs
   * @param {Changes} changes
   * @param {LayerRecord | null} record where weights are stored
   * @returns {Begun}
   */
  begin({ source }, changes, record) {
    const { read, state } = this.read(source, changes);
    return {
      state,
      advance: (ids, states, time) => {
        const hiddens = states.map(([hidden]) => hidden), words = embedWords(this.embedding, ids);
        const contexts = joined(...hiddens.map((hidden) => this.look(hidden, read, time, record)));
        const found = this.next(words, contexts, hiddens);
        const logits = this.readOut(words, joined(...found.map(([hidden]) => hidden)), contexts);
        return { logits, states: found };
      },
    };
  }
}
