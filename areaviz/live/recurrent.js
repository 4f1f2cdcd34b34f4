// Common parts of recurrent translators, as in areaviz/models/recurrent.py: LSTM and GRU cells,
// reading a sequence, and the state of decoding. Shapes: N rows, M items, W width.

import { sequenceGrid } from './attention.js';
import { UNCHANGED } from './interventions.js';
import { joined, linear, rowsOf } from './linear.js';
import { CROSS, logProbabilities } from './transformer.js';

/** @typedef {import('./attention.js').LayerRecord} LayerRecord */
/** @typedef {import('./beam.js').Stepper} Stepper */
/** @typedef {import('./interventions.js').Changes} Changes */
/** @typedef {import('./recording.js').Recording} Recording */
/** @typedef {import('./linear.js').Linear} Linear */
/** @typedef {import('./weights.js').Weights} Weights */
/** @typedef {Float32Array[]} State vectors of one row, such as hidden and cell state */
/**
 * @typedef {object} Begun a decoder over a source
 * @property {State} state before the first token
 * @property {(ids: number[], states: State[], time: number | null) => { logits: Float32Array,
 *   states: State[] }} advance returns logits and states after one more token of every row; the
 *   time is null while the model writes
 */
/**
 * @typedef {object} Cell one layer of a recurrent network
 * @property {number} width
 * @property {Linear} input
 * @property {Linear} hidden
 * @property {number} parts vectors of a state: 2 of an LSTM, 1 of a GRU
 * @property {(input: Float32Array, hidden: Float32Array, state: State) => State} next
 */

/** @param {number} x */
export function sigmoid(x) {
  return 1 / (1 + Math.exp(-x));
}

/**
 * Return one layer of PyTorch's LSTM or GRU.
 * @param {Weights} weights
 * @param {string} name
 * @param {number | string | null} layer a number, such as 0, or "0_reverse" for the other
 *   direction; null for a cell on its own
 * @param {'lstm' | 'gru'} kind
 * @returns {Cell}
 */
export function cellOf(weights, name, layer, kind) {
  const end = layer === null ? '' : `_l${layer}`;
  const part = (/** @type {string} */ side) => {
    const { shape: [out, width], data } = weights.get(`${name}.weight_${side}${end}`);
    return { weight: data, bias: weights.data(`${name}.bias_${side}${end}`), width, out };
  };
  const hidden = part('hh');
  const isLstm = kind === 'lstm';
  return {
    width: hidden.width,
    input: part('ih'),
    hidden,
    parts: isLstm ? 2 : 1,
    next: isLstm ? nextLstm : nextGru,
  };
}

/**
 * Return the next hidden and cell state. The gates are input, forget, new and output.
 * @param {Float32Array} input [4 W]
 * @param {Float32Array} hidden [4 W]
 * @param {State} state
 */
function nextLstm(input, hidden, [, cell]) {
  const width = cell.length;
  const nextHidden = new Float32Array(width), nextCell = new Float32Array(width);
  const gate = (/** @type {number} */ number, /** @type {number} */ i) => (
    input[number * width + i] + hidden[number * width + i]);
  for (let i = 0; i < width; i += 1) {
    const kept = sigmoid(gate(1, i)) * cell[i];
    nextCell[i] = kept + sigmoid(gate(0, i)) * Math.tanh(gate(2, i));
    nextHidden[i] = sigmoid(gate(3, i)) * Math.tanh(nextCell[i]);
  }
  return [nextHidden, nextCell];
}

/**
 * Return the next hidden state. The gates are reset, update and new. The reset gate multiplies the
 * hidden part of the new state, bias included.
 * @param {Float32Array} input [3 W]
 * @param {Float32Array} hidden [3 W]
 * @param {State} state
 */
export function nextGru(input, hidden, [before]) {
  const width = before.length, next = new Float32Array(width);
  for (let i = 0; i < width; i += 1) {
    const reset = sigmoid(input[i] + hidden[i]);
    const update = sigmoid(input[width + i] + hidden[width + i]);
    const fresh = Math.tanh(input[2 * width + i] + reset * hidden[2 * width + i]);
    next[i] = fresh + update * (before[i] - fresh);
  }
  return [next];
}

/**
 * Return the states of several rows after one more input for each row.
 * @param {Cell} cell
 * @param {Float32Array} x the inputs, one row each
 * @param {State[]} states
 */
export function advanceRows(cell, x, states) {
  const inputs = rowsOf(linear(cell.input, x), cell.input.out);
  const before = joined(...states.map(([hidden]) => hidden));
  const hiddens = rowsOf(linear(cell.hidden, before), cell.hidden.out);
  return states.map((state, row) => cell.next(inputs[row], hiddens[row], state));
}

/**
 * Return the states of rows after one more input for each row. A state has the hidden and the cell
 * state of every layer of an LSTM.
 * @param {Cell[]} cells the layers, first to last
 * @param {Float32Array} inputs [N, W]
 * @param {State[]} states
 */
export function advancedLayers(cells, inputs, states) {
  let x = inputs;
  /** @type {State[]} */
  const found = states.map(() => []);
  cells.forEach((cell, layer) => {
    const own = states.map((state) => state.slice(2 * layer, 2 * layer + 2));
    const after = advanceRows(cell, x, own);
    after.forEach((state, row) => found[row].push(...state));
    x = joined(...after.map(([hidden]) => hidden));
  });
  return found;
}

/**
 * Return the hidden states of the last layer of an LSTM [N, W].
 * @param {State[]} states
 */
export function topOf(states) {
  return joined(...states.map((state) => state[state.length - 2]));
}

/**
 * Run a stack of layers over items. Hidden items are skipped as if the text did not contain them.
 * @param {Cell[]} cells the layers, first to last
 * @param {Float32Array} words the embedded items [M, W]
 * @param {Set<number>} hidden
 * @param {boolean} isBackwards whether to read the last item first
 * @returns {{ items: Float32Array[], last: Float32Array }} the output for every item, which is zero
 *   for hidden items, and the output for the item that was read last
 */
export function readItems(cells, words, hidden, isBackwards = false) {
  const { width } = cells[0].input;
  /** @type {Float32Array[]} */
  const rows = rowsOf(words, width);
  const places = rows.map((_, item) => item).filter((item) => !hidden.has(item));
  if (isBackwards) places.reverse();
  // A text without any item is read as a single zero vector.
  const read = places.length ? places.map((item) => rows[item]) : [new Float32Array(width)];
  /** @type {Float32Array[]} */
  let outputs = read;
  for (const cell of cells) outputs = runCell(cell, outputs).map((state) => state[0]);
  /** @type {Float32Array[]} */
  const items = rows.map(() => new Float32Array(cells[0].width));
  places.forEach((item, number) => { items[item] = outputs[number]; });
  return { items, last: outputs[outputs.length - 1] };
}

/**
 * Return the states of one layer over a sequence.
 * @param {Cell} cell
 * @param {Float32Array[]} sequence
 */
export function runCell(cell, sequence) {
  const inputs = rowsOf(linear(cell.input, joined(...sequence)), cell.input.out);
  /** @type {State} */
  let state = Array.from({ length: cell.parts }, () => new Float32Array(cell.width));
  return inputs.map((input) => {
    state = cell.next(input, linear(cell.hidden, state[0]), state);
    return state;
  });
}

/**
 * Return tokens as vectors [R, W]: embeddings times sqrt(W).
 * @param {Linear} embedding
 * @param {number[]} ids
 */
export function embedWords({ weight, width }, ids) {
  const x = new Float32Array(ids.length * width), factor = Math.sqrt(width);
  ids.forEach((id, row) => {
    for (let i = 0; i < width; i += 1) x[row * width + i] = weight[id * width + i] * factor;
  });
  return x;
}

/** A recurrent translator, which reads and writes an output token by token. */
export class RecurrentNetwork {
  /**
   * @param {number} heads
   * @param {number} areaSize items of the largest area
   * @param {boolean} hasAttention
   */
  constructor(heads, areaSize, hasAttention = true) {
    this.layers = hasAttention ? 1 : 0;
    this.heads = heads;
    this.areaSize = areaSize;
    /** @type {Record<string, [string, string]>} */
    this.sites = hasAttention ? { [CROSS]: ['target', 'source'] } : {};
  }

  /**
   * Return the areas that are formed in a field.
   * @param {string} field
   * @param {number} items
   */
  areas(field, items) {
    return sequenceGrid(items, this.areaSize);
  }

  /**
   * Return the decoder over a source.
   * @param {{ source: number[] }} inputs
   * @param {Changes} changes
   * @param {LayerRecord | null} record where weights are stored
   * @returns {Begun}
   */
  begin(inputs, changes, record) {
    throw new Error('A subclass must define `begin`.');
  }

  /**
   * Return the logits [T, V] of a target, and record the weights.
   * @param {{ source: number[] }} inputs
   * @param {number[]} target token ids, which begin with the start symbol
   * @param {Changes} changes
   * @param {Recording | null} recording
   */
  attend(inputs, target, changes = UNCHANGED, recording = null) {
    const [site] = Object.keys(this.sites);
    const record = site && recording ? recording.layer(site, 0) : null;
    const { advance, state } = this.begin(inputs, changes, record);
    let states = [state];
    return joined(...target.map((id, time) => {
      const found = advance([id], states, time);
      states = found.states;
      return found.logits;
    }));
  }

  /**
   * Return the decoder over a source, which writes one token at a time.
   * @param {{ source: number[] }} inputs
   * @param {Changes} changes
   */
  write(inputs, changes = UNCHANGED) {
    return new RecurrentStepper(this.begin(inputs, changes, null));
  }
}

/**
 * The state of decoding. All rows attend to one source.
 * @implements {Stepper}
 */
class RecurrentStepper {
  /** @param {Begun} begun */
  constructor({ advance, state }) {
    this.advance = advance;
    this.start = state;
    /** @type {State[]} */
    this.states = [];
  }

  /** @param {number[]} tokens */
  step(tokens) {
    if (!this.states.length) this.states = tokens.map(() => this.start);
    const { logits, states } = this.advance(tokens, this.states, null);
    this.states = states;
    return rowsOf(logits, logits.length / tokens.length).map(logProbabilities);
  }

  /** @param {number[]} rows */
  select(rows) {
    this.states = rows.map((row) => this.states[row]);
  }
}
