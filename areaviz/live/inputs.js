// The part of a request that a model reads, as in areaviz/models/recording.py: a sentence, the
// beginning of a text, or a picture. An input also makes the fields of the trace, and the beginning
// of the output.

import { cellField, textField, writtenFields } from './recording.js';
import { InputError } from './request.js';
import { END } from './tokenizer.js';

/** @typedef {import('./recording.js').Field} Field */
/** @typedef {import('./request.js').Request} Request */
/** @typedef {import('./tokenizer.js').Token} Token */
/** @typedef {import('./tokenizer.js').Tokenizer} Tokenizer */
/** @typedef {Record<string, any>} Inputs what a network reads, by field */

const MISSING_TEXT = 'The text has no visible character. Type a sentence, for example: A dog runs.';
const MISSING_PICTURE = 'This model needs a picture. Choose or upload one.';

/** A sentence. The output is another text. */
export class SentenceInput {
  /** @param {Tokenizer} tokenizer */
  constructor(tokenizer) {
    this.tokenizer = tokenizer;
  }

  /**
   * Return the tokens of the text that the model reads.
   * @param {Request} request
   */
  tokens({ text }) {
    return this.tokenizer.tokens(text);
  }

  /**
   * Return the inputs of the network, or throw an InputError if the request has none.
   * @param {Request} request
   * @returns {Inputs}
   */
  read(request) {
    const tokens = this.tokens(request);
    if (!tokens.some(({ text }) => text.trim())) throw new InputError(MISSING_TEXT);
    return { source: [...tokens.map(({ id }) => id), END] };
  }

  /**
   * Return the tokens with which every output begins.
   * @param {Request} request
   * @returns {number[]}
   */
  begin(request) {
    return [];
  }

  /**
   * Return the token ids of a given output.
   * @param {Request} request
   */
  given({ target }) {
    return this.tokenizer.idsOf(target ?? '');
  }

  /**
   * Return the fields of the input and of the output.
   * @param {Request} request
   * @param {number[]} ids the output
   * @returns {Record<string, Field>}
   */
  fields(request, ids) {
    const source = textField('source', request.text, this.tokens(request), { end: true });
    const { text, tokens } = this.tokenizer.decode(ids);
    return { source, ...writtenFields(text, tokens, ids.at(-1) === END) };
  }
}

/** The beginning of a text, which the output continues. */
export class BeginningInput extends SentenceInput {
  /** @param {Request} request */
  tokens({ text, target }) {
    return this.tokenizer.tokens(text + (target ?? ''));
  }

  /**
   * @param {Request} request
   * @returns {Inputs}
   */
  read(request) {
    super.read(request);
    return {};
  }

  /** @param {Request} request */
  begin({ text }) {
    return this.tokenizer.tokens(text).map(({ id }) => id);
  }

  /** @param {Request} request */
  given({ text, target }) {
    return this.tokenizer.idsOf(text + (target ?? ''));
  }

  /**
   * Return the fields of the whole text. Its beginning is kept as typed.
   * @param {Request} request
   * @param {number[]} ids
   */
  fields(request, ids) {
    const text = request.text + (request.target ?? '');
    const tokens = this.tokens(request);
    const whole = this.tokenizer.decode(ids);
    const before = [...this.tokenizer.decode(ids.slice(0, tokens.length)).text].length;
    const shift = [...text].length - before;
    for (const token of whole.tokens.slice(tokens.length)) {
      tokens.push({ ...token, start: token.start + shift, end: token.end + shift });
    }
    const written = [...whole.text].slice(before).join('');
    return writtenFields(text + written, tokens, ids.at(-1) === END);
  }
}

/** A picture. The output is a caption. */
export class PictureInput extends SentenceInput {
  /**
   * @param {Tokenizer} tokenizer
   * @param {{ grid: number }} config
   */
  constructor(tokenizer, { grid }) {
    super(tokenizer);
    this.grid = grid;
  }

  /**
   * @param {Request} request
   * @returns {Token[]}
   */
  tokens(request) {
    return [];
  }

  /**
   * @param {Request} request
   * @returns {Inputs}
   */
  read({ picture }) {
    if (!picture) throw new InputError(MISSING_PICTURE);
    return { picture };
  }

  /**
   * @param {Request} request
   * @param {number[]} ids
   */
  fields(request, ids) {
    const { picture } = this.read(request);
    const { text, tokens } = this.tokenizer.decode(ids);
    return { picture: cellField(picture, this.grid), ...writtenFields(text, tokens, ids.at(-1) === END) };
  }
}
