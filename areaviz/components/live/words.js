// Groups the items of a text into words, as `find_words` in areaviz/trace/query.py does.

import { WHITE_SPACE, withoutLeadingSpace } from './normalise.js';

/** @typedef {import('./recording.js').Field} Field */
/** @typedef {[first: number, end: number]} Run items, the end exclusive */

/**
 * Group the items of a text into words. White space and symbols without text are runs of their own.
 * @param {Field} field
 * @returns {Run[]}
 */
export function wordsOf({ raw, anchors }) {
  const characters = [...raw];
  const isSpace = characters.map((one) => WHITE_SPACE.test(one));
  let count = 0;
  const wordAt = isSpace.map((space, i) => {
    if (!i || space !== isSpace[i - 1]) count += 1;
    return count;
  });
  /** @type {Run[]} */
  const runs = [];
  /** @type {number | null} */
  let previous = null;
  anchors.forEach(([start, end], item) => {
    const text = characters.slice(start, end);
    const blanks = text.length - withoutLeadingSpace(text).length;
    const word = text.length ? wordAt[start + (blanks % text.length)] : null;
    const last = runs.at(-1);
    if (word === null || word !== previous || !last) runs.push([item, item + 1]);
    else last[1] = item + 1;
    previous = word;
  });
  return runs;
}
