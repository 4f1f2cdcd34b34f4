// Warnings about an output, as in areaviz/models/output_notes.py.

import { UNKNOWN } from './tokenizer.js';

/** @typedef {import('./beam.js').Hypothesis} Hypothesis */
/** @typedef {import('./tokenizer.js').Token} Token */

const MOST_NAMED = 8;

/**
 * Return warnings about the output for a text, one sentence each.
 * @param {{ level: string, trainedLength: number }} card
 * @param {Token[]} tokens the tokens of the text
 * @param {number} written the number of tokens that the model wrote
 * @param {boolean} finished whether it wrote the end symbol
 */
export function outputNotes({ level, trainedLength }, tokens, written, finished) {
  const unknown = new Set(tokens.filter(({ id }) => id === UNKNOWN).map(({ text }) => text));
  const sentences = [];
  if (unknown.size) sentences.push(unknownSentence([...unknown].sort(byCodePoint)));
  if (tokens.length > trainedLength) {
    sentences.push(`Longer than anything this model was trained on (${trainedLength} ${level}s).`);
  }
  if (!finished) {
    sentences.push(`The model did not stop by itself. It was stopped after ${written} ${level}s.`);
  }
  return sentences;
}

/** @param {string[]} symbols */
function unknownSentence(symbols) {
  const named = symbols.slice(0, MOST_NAMED).map((symbol) => `“${symbol}”`);
  if (symbols.length === 1) {
    return `The model does not know ${named[0]} and reads it as the unknown token.`;
  }
  const listed = symbols.length > MOST_NAMED
    ? `${named.join(', ')} and ${symbols.length - MOST_NAMED} more`
    : `${named.slice(0, -1).join(', ')} and ${named.at(-1)}`;
  return `The model does not know ${listed}. It reads all of them as one unknown token.`;
}

/**
 * Compare texts by code points, as Python does.
 * @param {string} one
 * @param {string} other
 */
function byCodePoint(one, other) {
  const codes = (/** @type {string} */ text) => (
    [...text].map((sign) => (sign.codePointAt(0) ?? 0).toString(16).padStart(6, '0')).join(''));
  return codes(one) < codes(other) ? -1 : 1;
}
