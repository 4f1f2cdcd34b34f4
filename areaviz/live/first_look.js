// The query that a ribbon highlights first: the query that shows areas of several items best. It is
// chosen as in areaviz/views/message.py. Shapes: Q queries, A areas.

import { largestOf } from './beam.js';
import { WHITE_SPACE, wordsOf } from './words.js';

/** @typedef {import('./attention.js').AreaGrid} AreaGrid */
/** @typedef {import('./recording.js').Field} Field */

const WORD = new RegExp(`^${WHITE_SPACE.source}*\\p{L}+${WHITE_SPACE.source}*$`, 'u');

/**
 * Return the query that a layer opens with, in a list. The list is empty if there is no attention.
 * If a text has no words, any item can be chosen.
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
 * Return whether each item is part of a word. If most words are one item, only whole words count.
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
 * Return the mean over heads of the weight of the heaviest area with an index of at least `first`,
 * [Q].
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
