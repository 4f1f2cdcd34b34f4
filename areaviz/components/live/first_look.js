// Where a ribbon looks first: the query that shows areas of several items best, as `first_item` in
// areaviz/interactive/default_focus.py chooses it. Shapes: Q queries, A areas.

import { largestOf } from './beam.js';
import { WHITE_SPACE } from './normalise.js';
import { wordsOf } from './words.js';

/** @typedef {import('./area_grid.js').AreaGrid} AreaGrid */
/** @typedef {import('./recording.js').Field} Field */

const WORD = new RegExp(`^${WHITE_SPACE.source}*\\p{L}+${WHITE_SPACE.source}*$`, 'u');

/**
 * Return the query that a layer opens with, as a list of one, or of none if there is no attention. A
 * text without words opens with any item.
 * @param {Float32Array[][]} heads the weights of every query, head by head
 * @param {AreaGrid} grid
 * @param {Field} query
 */
export function firstItem(heads, grid, query) {
  const words = wholeWords(query);
  const scores = [topAreaScores(heads, grid), meanScores(heads, grid.items), meanScores(heads, 0)];
  for (const isChosen of [words, words.map(() => true)]) {
    for (const score of scores) {
      const own = score.map((value, item) => (isChosen[item] ? value : 0));
      const [best] = largestOf(own, 1);
      if (own[best] > 0) return [best];
    }
  }
  return [];
}

/**
 * Return which items are words; only whole words, if most words are one item each.
 * @param {Field} query
 */
function wholeWords(query) {
  const letters = query.labels.map((label) => WORD.test(label));
  const runs = wordsOf(query);
  const whole = letters.map(() => false);
  for (const [first, end] of runs) if (end === first + 1) whole[first] = letters[first];
  return 2 * whole.filter(Boolean).length > runs.length ? whole : letters;
}

/**
 * Return the sum of the weights of the heads' top areas that have several items, [Q].
 * @param {Float32Array[][]} heads
 * @param {AreaGrid} grid
 */
function topAreaScores(heads, grid) {
  const total = new Float64Array(heads[0].length);
  for (const rows of heads) {
    rows.forEach((row, query) => {
      const [top] = largestOf(row, 1);
      // In a sequence, the areas of one item come first.
      if (top >= grid.items) total[query] += row[top];
    });
  }
  return total;
}

/**
 * Return the weight of the heaviest area from a place on, as a mean over heads, [Q].
 * @param {Float32Array[][]} heads
 * @param {number} first
 */
function meanScores(heads, first) {
  return Float64Array.from(heads[0], (row, query) => {
    let heaviest = 0;
    for (let area = first; area < row.length; area += 1) {
      let total = 0;
      for (const rows of heads) total = Math.fround(total + rows[query][area]);
      heaviest = Math.max(heaviest, Math.fround(total / heads.length));
    }
    return heaviest;
  });
}
