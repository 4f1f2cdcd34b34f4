// Converts a text to tokens and back, as areaviz/models/tokenizer.py does with SentencePiece.
// Tokens are unigram pieces, characters or words, with positions in the text as typed.

import { BLANK, normaliseText, withoutLeadingSpace } from './words.js';

/** @typedef {{ id: number, text: string, start: number, end: number }} Token */
/**
 * @typedef {object} Pieces what `Tokenizer.pieces` in Python writes
 * @property {'unigram' | 'char' | 'word'} kind
 * @property {boolean} prefix whether a blank comes before the text
 * @property {string} unknown the label of an unknown token
 * @property {[string, number][]} pieces every piece with its score, by id
 */
/** @typedef {[id: number, first: number, end: number]} Piece characters of the normalised text */

export const PAD = 0, UNKNOWN = 1, START = 2, END = 3;
// The score of an unknown character is that of the least probable piece minus this number.
const UNKNOWN_PENALTY = 10;

/** Pieces of text, with their ids and positions. */
export class Tokenizer {
  /** @param {Pieces} pieces */
  constructor({ kind, prefix, unknown, pieces }) {
    this.kind = kind;
    this.prefix = prefix;
    this.unknown = unknown;
    this.pieces = pieces.map(([piece]) => piece);
    /** @type {Map<string, number>} */
    this.ids = new Map();
    this.scores = pieces.map(([, score]) => score);
    this.longest = 1;
    for (let id = END + 1; id < pieces.length; id += 1) {
      this.ids.set(this.pieces[id], id);
      this.longest = Math.max(this.longest, [...this.pieces[id]].length);
    }
    const least = this.scores.slice(END + 1).reduce((low, score) => Math.min(low, score), Infinity);
    this.unknownScore = Math.fround(least - UNKNOWN_PENALTY);
  }

  /**
   * Return the tokens of a text, without an end symbol.
   * @param {string} text
   */
  tokens(text) {
    const { characters, places } = normaliseText(text, this.prefix);
    const typed = [...text];
    return this.cut(characters).map(([id, first, end]) => placed(typed, id, places[first], places[end]));
  }

  /**
   * Return the token ids of a text, with the end symbol.
   * @param {string} text
   */
  idsOf(text) {
    return [...this.tokens(text).map(({ id }) => id), END];
  }

  /**
   * Cut normalised text into pieces. Consecutive unknown pieces become one piece.
   * @param {string[]} characters
   */
  cut(characters) {
    /** @type {Piece[]} */
    const merged = [];
    const cut = { unigram: this.best, char: this.single, word: this.words }[this.kind];
    for (const [id, first, end] of cut.call(this, characters)) {
      const before = merged.at(-1);
      if (id === UNKNOWN && before?.[0] === UNKNOWN) before[2] = end;
      else merged.push([id, first, end]);
    }
    return merged;
  }

  /**
   * @param {string[]} characters
   * @returns {Piece[]}
   */
  single(characters) {
    return characters.map((one, place) => [this.ids.get(one) ?? UNKNOWN, place, place + 1]);
  }

  /**
   * Return the words, each with the blank before it.
   * @param {string[]} characters
   * @returns {Piece[]}
   */
  words(characters) {
    const starts = characters.flatMap((one, place) => (!place || one === BLANK ? [place] : []));
    return starts.map((first, number) => {
      const end = starts[number + 1] ?? characters.length;
      return [this.ids.get(characters.slice(first, end).join('')) ?? UNKNOWN, first, end];
    });
  }

  /**
   * Return the most probable pieces (Viterbi). Sums are in single precision, as in SentencePiece.
   * @param {string[]} characters
   * @returns {Piece[]}
   */
  best(characters) {
    const count = characters.length;
    const score = new Float32Array(count + 1);
    const from = new Int32Array(count + 1).fill(-1), by = new Int32Array(count + 1);
    for (let start = 0; start < count; start += 1) {
      for (const [end, id, value] of this.starting(characters, start)) {
        const total = Math.fround(score[start] + value);
        if (from[end] >= 0 && total <= score[end]) continue;
        score[end] = total;
        from[end] = start;
        by[end] = id;
      }
    }
    /** @type {Piece[]} */
    const found = [];
    for (let end = count; end > 0; end = from[end]) found.unshift([by[end], from[end], end]);
    return found;
  }

  /**
   * Return the pieces that start at a character, as [end, id, score].
   * @param {string[]} characters
   * @param {number} start
   */
  starting(characters, start) {
    /** @type {[number, number, number][]} */
    const found = [];
    let piece = '', isKnown = false;
    for (let end = start + 1; end <= Math.min(characters.length, start + this.longest); end += 1) {
      piece += characters[end - 1];
      const id = this.ids.get(piece);
      if (id === undefined) continue;
      found.push([end, id, this.scores[id]]);
      isKnown ||= end === start + 1;
    }
    if (!isKnown) found.push([start + 1, UNKNOWN, this.unknownScore]);
    return found;
  }

  /**
   * Return the text of ids and its tokens with their positions, without control symbols.
   * @param {number[]} ids
   */
  decode(ids) {
    /** @type {string[]} */
    const typed = [];
    /** @type {Piece[]} */
    const spans = [];
    for (const id of ids) {
      if (id !== UNKNOWN && id <= END) continue;
      let piece = id === UNKNOWN ? this.unknown : this.pieces[id].replaceAll(BLANK, ' ');
      if (!typed.length && id !== UNKNOWN) piece = piece.replace(/^ /, '');
      spans.push([id, typed.length, typed.length + [...piece].length]);
      typed.push(...piece);
    }
    return { text: typed.join(''), tokens: spans.map(([id, start, end]) => placed(typed, id, start, end)) };
  }

  /**
   * Return the text of a single token, without the blank before a word.
   * @param {number} id
   */
  label(id) {
    return withoutLeadingSpace([...this.pieces[id].replaceAll(BLANK, ' ')]).join('') || ' ';
  }
}

/**
 * Return a token without the blank before it.
 * @param {string[]} typed the characters of the text
 * @param {number} id
 * @param {number} start
 * @param {number} end
 * @returns {Token}
 */
function placed(typed, id, start, end) {
  const shown = withoutLeadingSpace(typed.slice(start, end));
  return { id, text: shown.join('') || ' ', start: shown.length ? end - shown.length : start, end };
}
