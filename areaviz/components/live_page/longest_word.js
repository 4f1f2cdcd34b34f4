// The word that a page highlights first, as `find_longest_word` in
// areaviz/publish/component_kinds.py chooses it.

import { wordsOf } from '../live/words.js';

/** @typedef {import('../live/recording.js').Field} Field */

/**
 * Return the items of the longest word, without the punctuation around it.
 * @param {Field} field
 */
export function longestWord(field) {
  const characters = [...field.raw];
  /** @type {number[]} */
  let longest = [];
  let length = 0;
  for (const [first, end] of wordsOf(field)) {
    const texts = field.anchors.slice(first, end).map(([from, to]) => characters.slice(from, to));
    const lettered = texts.flatMap((text, i) => (text.some((one) => /[\p{L}\p{N}]/u.test(one)) ? [i] : []));
    if (!lettered.length) continue;
    const items = Array.from(
      { length: lettered[lettered.length - 1] - lettered[0] + 1 }, (_, i) => lettered[0] + i);
    const size = items.reduce((total, item) => total + texts[item].length, 0);
    if (size > length) {
      length = size;
      longest = items.map((item) => first + item);
    }
  }
  return longest;
}
