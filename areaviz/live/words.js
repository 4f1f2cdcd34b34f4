// The text normalisation of SentencePiece (NFKC with exceptions). It keeps the position of every
// character in the text as typed. Positions count code points, as in Python.

/** The sign of SentencePiece for a blank. */
export const BLANK = '▁';
// Length of the longest sequence that becomes one character, such as a letter and its accents.
const LONGEST_SEQUENCE = 4;
// Characters that SentencePiece turns into a blank or drops, and one that it keeps.
const BLANKS = '\t\n\f\r\u061c\u1680\u200b\u200c\u200e\u200f\u2028\u2029\ufeff\ufffd';
const DROPPED = /[\x01-\x08\x0b\x0e-\x1f\x7f\x8f\x9f]/;
const KEPT = '\uff5e';
// Only marks and the parts of Hangul syllables join the character before them.
const JOINING = new RegExp('^[\\p{M}\\u1160-\\u1175\\u11A8-\\u11C2\\u3131-\\u318E\\u09D7'
  + '\\uFF9E-\\uFFDC\\u{16D63}-\\u{16D6A}]$', 'u');

/**
 * Python's white space. In contrast, \s has U+FEFF, and lacks four control characters and U+0085.
 */
export const WHITE_SPACE = /[\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]/;

/**
 * Return characters without leading white space.
 * @param {string[]} characters
 */
export function withoutLeadingSpace(characters) {
  const first = characters.findIndex((one) => !WHITE_SPACE.test(one));
  return first < 0 ? [] : characters.slice(first);
}

/**
 * Return the replacement of a character, or of a sequence that begins with it, and its length
 * before.
 * @param {string[]} characters
 * @param {number} at
 * @returns {[string, number]}
 */
function replaced(characters, at) {
  const one = characters[at];
  if (BLANKS.includes(one)) return [' ', 1];
  if (DROPPED.test(one)) return ['', 1];
  if (one === KEPT) return [one, 1];
  for (let count = longestSequence(characters, at); count > 1; count -= 1) {
    const parts = characters.slice(at, at + count);
    const together = parts.join('').normalize('NFKC');
    const apart = parts.map((part) => part.normalize('NFKD')).join('');
    // Marks that NFKC would reorder are not composed.
    if ([...together].length === 1 && apart === parts.join('').normalize('NFKD')) {
      return [together, count];
    }
  }
  return [one.normalize('NFKC'), 1];
}

/**
 * Return the number of characters that might become one: a plain letter and the marks after it.
 * @param {string[]} characters
 * @param {number} at
 */
function longestSequence(characters, at) {
  let count = 1;
  // A letter that already has its accents stays as it is.
  if ([...characters[at].normalize('NFD')].length > 1) return count;
  while (count < LONGEST_SEQUENCE && JOINING.test(characters[at + count] ?? '')) count += 1;
  return count;
}

/**
 * Return the normalised characters, and the position of each, and of the end, in the text. Blanks
 * at both ends are removed, and several blanks in a row become one.
 * @param {string} text
 * @param {boolean} hasPrefix whether a blank comes before the text
 */
export function normaliseText(text, hasPrefix) {
  const typed = [...text];
  let at = 0;
  while (at < typed.length) {
    const [became, used] = replaced(typed, at);
    if (became !== ' ') break;
    at += used;
  }
  /** @type {string[]} */
  const characters = [];
  /** @type {number[]} */
  const places = [];
  if (at >= typed.length) return { characters, places: [0] };
  if (hasPrefix) {
    characters.push(BLANK);
    places.push(at);
  }
  let isBlank = true;
  while (at < typed.length) {
    const [became, used] = replaced(typed, at);
    /** @type {string} */
    const shown = isBlank ? became.replace(/^ +/, '') : became;
    for (const one of shown) {
      characters.push(one === ' ' ? BLANK : one);
      places.push(at);
    }
    if (shown) isBlank = shown.endsWith(' ');
    at += used;
  }
  while (characters.at(-1) === BLANK) {
    at = places.pop() ?? at;
    characters.pop();
  }
  return { characters, places: [...places, at] };
}

// Groups the items of a text into words, as `find_words` in areaviz/trace/query.py does.


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
