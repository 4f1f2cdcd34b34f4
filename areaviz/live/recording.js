// The parts of a trace, made from one pass of a generating network, as in
// areaviz/models/recording.py. docs/trace.md specifies them.

import { largestOf } from './beam.js';
import { END } from './tokenizer.js';
import { logProbabilities } from './transformer.js';

/** @typedef {import('./attention.js').AreaGrid} AreaGrid */
/** @typedef {import('./attention.js').LayerRecord} LayerRecord */
/** @typedef {import('./tokenizer.js').Token} Token */
/** @typedef {import('./tokenizer.js').Tokenizer} Tokenizer */
/**
 * @typedef {object} Field items that attend or are attended to
 * @property {string} name
 * @property {string} kind
 * @property {string} raw
 * @property {string[]} labels
 * @property {number[][]} anchors
 */
/**
 * @typedef {object} AttentionMap
 * @property {string} site
 * @property {string} query
 * @property {string} memory
 * @property {AreaGrid} grid
 * @property {number} layers
 * @property {number} heads
 * @property {number} queries
 * @property {Float32Array} weights [L, H, Q, A]
 * @property {string} normalisation the meaning of the weights, such as a softmax over areas
 * @property {number[]} [chosen] the area that each query read under hard attention
 */
/**
 * @typedef {object} Gaze patches of a picture that were read one after another, as in
 *   areaviz/trace/record.py
 * @property {string} site
 * @property {Float32Array} corners [Q, K, 4, 2], in pixels of the picture
 * @property {Uint8Array} seen [Q, K, S, S]
 * @property {number[]} shape Q, K and S
 */
/** @typedef {{ probability: number, alternatives: [string, number][] }} OutputItem */
/** @typedef {{ side: number, scale: number[], offset: number[] }} Placement a picture on a square canvas, see Canvas in areaviz/models/pictures.py */

const ALTERNATIVES = 5;
const START_LABEL = '⟨start⟩', END_LABEL = '⟨end⟩';

/** The weights of every site, which a pass fills layer by layer. */
export class Recording {
  /**
   * @param {Record<string, [string, string]>} sites
   * @param {{ layers: number, heads: number }} network
   * @param {(field: string, items: number) => AreaGrid} areas
   * @param {Record<string, number>} lengths the number of items of every field
   */
  constructor(sites, { layers, heads }, areas, lengths) {
    /** @type {Record<string, AttentionMap>} */
    this.maps = {};
    for (const [site, [query, memory]] of Object.entries(sites)) {
      const grid = areas(memory, lengths[memory]);
      const queries = lengths[query];
      const weights = new Float32Array(layers * heads * queries * grid.count);
      const normalisation = 'softmax over areas';
      this.maps[site] = { site, query, memory, grid, layers, heads, queries, weights, normalisation };
    }
  }

  /**
   * Return where the weights of a layer are stored.
   * @param {string} site
   * @param {number} layer
   * @returns {LayerRecord}
   */
  layer(site, layer) {
    const { weights, grid, heads, queries } = this.maps[site];
    return { weights, grid, first: (head, query) => ((layer * heads + head) * queries + query) * grid.count };
  }
}

/**
 * Return the fields "target" and "history" of a text with its tokens.
 * @param {string} text
 * @param {Token[]} tokens
 * @param {boolean} finished whether the end symbol follows them
 * @returns {Record<string, Field>}
 */
export function writtenFields(text, tokens, finished) {
  // The last item was written but never read. If it is the end symbol, it is not among the tokens.
  const read = finished ? tokens : tokens.slice(0, -1);
  return {
    target: textField('target', text, tokens, { end: finished }),
    history: textField('history', text, read, { start: true }),
  };
}

/**
 * Return a text field, with an optional start and end symbol that match no characters.
 * @param {string} name
 * @param {string} raw
 * @param {Token[]} tokens
 * @param {{ start?: boolean, end?: boolean }} symbols
 * @returns {Field}
 */
export function textField(name, raw, tokens, { start = false, end = false }) {
  const labels = tokens.map(({ text }) => text);
  const anchors = tokens.map((token) => [token.start, token.end]);
  if (start) {
    labels.unshift(START_LABEL);
    anchors.unshift([0, 0]);
  }
  if (end) {
    const length = [...raw].length;
    labels.push(END_LABEL);
    anchors.push([length, length]);
  }
  return { name, kind: 'text', raw, labels, anchors };
}

/**
 * Return the cells of a grid over a picture or its canvas, row by row, with their edges in pixels.
 * Each cell is cut to the picture.
 * @param {{ width: number, height: number }} picture
 * @param {number} grid
 * @param {Placement} place
 * @returns {Field}
 */
export function cellField({ width, height }, grid, place = { side: 1, scale: [1 / width, 1 / height], offset: [0, 0] }) {
  const edges = [width, height].map((extent, axis) => Array.from({ length: grid + 1 }, (_, i) => (
    Math.min(Math.max(roundHalfToEven(inPicture((i / grid) * place.side, axis, place)), 0), extent))));
  const [across, down] = edges;
  /** @type {string[]} */
  const labels = [];
  /** @type {number[][]} */
  const anchors = [];
  for (let row = 0; row < grid; row += 1) {
    for (let column = 0; column < grid; column += 1) {
      labels.push(`row ${row + 1}, column ${column + 1}`);
      anchors.push([across[column], down[row], across[column + 1], down[row + 1]]);
    }
  }
  return { name: 'picture', kind: 'picture', raw: '', labels, anchors };
}

/**
 * Convert a place on a canvas to pixels of its picture.
 * @param {number} at
 * @param {number} axis 0 across, 1 down
 * @param {Placement} place
 */
export function inPicture(at, axis, { scale, offset }) {
  return Math.fround((at - offset[axis]) / scale[axis]);
}

/** @param {number} value */
export function roundHalfToEven(value) {
  const rounded = Math.round(value);
  return rounded - value === 0.5 && rounded % 2 ? rounded - 1 : rounded;
}

/**
 * Return the labels of the most probable choices with their probabilities or logarithms, best
 * first.
 * @param {Float32Array} likely
 * @param {(choice: number) => string} labelOf
 * @returns {[string, number][]}
 */
export function alternativesOf(likely, labelOf) {
  return largestOf(likely, ALTERNATIVES).map((choice) => [labelOf(choice), likely[choice]]);
}

/**
 * Return the probability of every output item, and the most probable items at its place.
 * @param {Float32Array} logits [T, V]
 * @param {number[]} ids
 * @param {Tokenizer} tokenizer
 * @returns {OutputItem[]}
 */
export function outputItems(logits, ids, tokenizer) {
  const vocabulary = logits.length / ids.length;
  return ids.map((id, step) => {
    const row = logProbabilities(logits.subarray(step * vocabulary, (step + 1) * vocabulary));
    const labelOf = (/** @type {number} */ other) => (other === END ? END_LABEL : tokenizer.label(other));
    const alternatives = alternativesOf(row, labelOf);
    for (const one of alternatives) one[1] = Math.exp(one[1]);
    return { probability: Math.exp(row[id]), alternatives };
  });
}
