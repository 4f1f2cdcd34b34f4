// Warnings about an output, as in areaviz/models/recording.py.

import { Changes, readChanges } from './interventions.js';
import { search } from './beam.js';
import { UNKNOWN, END, START, Tokenizer } from './tokenizer.js';
import { Recording, outputItems } from './recording.js';
import { Noting } from './payloads.js';
import { InputError, checkedRequest } from './request.js';
import { Weights } from './weights.js';
import { FAMILIES } from './text_decoders.js';

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

// The model around a network that writes an output, as in areaviz/models/generation.py. It turns a
// request into a trace.


/** @typedef {import('./beam.js').OnStep} OnStep */
/** @typedef {import('./inputs.js').Inputs} Inputs */
/** @typedef {import('./payloads.js').LogitTerms} LogitTerms */
/** @typedef {import('./payloads.js').Place} Place */
/** @typedef {import('./recording.js').AttentionMap} AttentionMap */
/** @typedef {import('./recording.js').Field} Field */
/** @typedef {import('./recording.js').Gaze} Gaze */
/** @typedef {import('./recording.js').OutputItem} OutputItem */
/** @typedef {import('./request.js').Request} Request */
/** @typedef {import('./tokenizer.js').Pieces} Pieces */
/**
 * @typedef {object} Card the entries of a model's card that the engine reads
 * @property {string} name
 * @property {string} title
 * @property {string} family
 * @property {string} level
 * @property {number} trainedLength
 * @property {any} config
 * @property {{ ratio: number, extra: number } | null} lengthLimit
 * @property {number} lengthPenalty
 * @property {number} side the side of a digit reader's square, in pixels
 * @property {number} multiplyAdds multiply-adds that a digit reader takes for one picture
 */
/**
 * @typedef {object} Trace
 * @property {Request} request
 * @property {Record<string, Field>} fields
 * @property {OutputItem[]} output
 * @property {Record<string, AttentionMap>} maps
 * @property {Record<string, Gaze>} [gazes]
 * @property {Record<string, string>} details
 * @property {(place: Place) => LogitTerms | null} [terms] returns the terms of a query's logits
 */

const MOST_WEIGHTS = 2 ** 26;
// A probability may underflow to 0 in single precision, and its logarithm must still be finite.
const LEAST_PROBABILITY = 2 ** -126;

/** A model that generates a sequence and records its attention. */
export class WritingModel {
  /**
   * @param {Card} card
   * @param {ArrayBuffer} weights the bytes of model.safetensors
   * @param {Pieces} pieces
   */
  constructor(card, weights, pieces) {
    const { network, input } = FAMILIES[card.family];
    this.card = card;
    this.weights = new Weights(weights);
    this.tokenizer = new Tokenizer(pieces);
    this.network = new network(card.config, this.weights);
    this.input = new input(this.tokenizer, card.config);
  }

  /**
   * Generate the output for a request and record one pass over it.
   * @param {Partial<Request>} given
   * @param {OnStep | null} onStep
   * @returns {Trace}
   */
  trace(given, onStep = null) {
    const request = checkedRequest(this.card.name, given);
    const network = this.resized(request.area_size);
    const changes = new Changes(readChanges(request.changes), network.sites);
    const inputs = this.input.read(request);
    const found = request.target === null
      ? this.write(network, request, inputs, changes, onStep)
      : { ids: this.input.given(request), logProbability: NaN, finished: true };
    const fields = this.input.fields(request, found.ids);
    const recording = recordingOf(network, fields);
    const target = [START, ...found.ids.slice(0, -1)];
    const logits = network.attend(inputs, target, changes, recording);
    const output = outputItems(logits, found.ids, this.tokenizer);
    const details = this.details(request, found, output);
    // The terms of all logits would need more memory than the weights, so they are computed for one
    // query in another pass when they are requested.
    const terms = (/** @type {Place} */ place) => {
      const noting = new Noting(place);
      network.attend(inputs, target, changes, noting);
      return noting.found;
    };
    return { request, fields, output, maps: recording.maps, details, terms };
  }

  /**
   * Return the network with another largest area.
   * @param {number | null} areaSize
   */
  resized(areaSize) {
    const { config, family, title } = this.card;
    const trained = config.area_size ?? 1;
    if (areaSize === null || areaSize === trained) return this.network;
    const known = config.known_size || trained;
    if (config.area_size === undefined || (config.key_mode !== 'mean' && areaSize > known)) {
      throw new InputError(`${title} supports areas of up to ${known} items. Choose a smaller largest area.`);
    }
    const layers = config.area_layers || config.layers;
    const { network } = FAMILIES[family];
    return new network({ ...config, area_size: areaSize, area_layers: layers }, this.weights);
  }

  /**
   * Generate the best output.
   * @param {any} network
   * @param {Request} request
   * @param {Inputs} inputs
   * @param {Changes} changes
   * @param {OnStep | null} onStep
   * @returns {Hypothesis}
   */
  write(network, request, inputs, changes, onStep) {
    const begin = this.input.begin(request);
    const stepper = begun(network.write(inputs, changes), begin);
    const { lengthLimit: longest, lengthPenalty: alpha } = this.card;
    const limit = longest && inputs.source
      ? Math.ceil(longest.ratio * inputs.source.length) + longest.extra : network.longest;
    const width = request.method === 'greedy' ? 1 : request.beam;
    const found = search(stepper, { start: START, end: END, limit, width, alpha }, onStep);
    // The search knows only the probability of the continuation. That of the given text is added
    // later.
    const logProbability = begin.length ? NaN : found.logProbability;
    return { ...found, ids: [...begin, ...found.ids], logProbability };
  }

  /**
   * Return the details of a trace: the probability of the output, and warnings.
   * @param {Request} request
   * @param {Hypothesis} found
   * @param {OutputItem[]} output
   */
  details(request, found, output) {
    const summed = output.reduce((total, { probability }) => (
      total + Math.log(Math.max(probability, LEAST_PROBABILITY))), 0);
    const total = Number.isNaN(found.logProbability) ? summed : found.logProbability;
    /** @type {Record<string, string>} */
    const details = { device: 'browser', 'log-probability': total.toFixed(3) };
    const written = found.ids.length - this.input.begin(request).length;
    const warnings = outputNotes(this.card, this.input.tokens(request), written, found.finished);
    if (warnings.length) details.warning = warnings.join(' ');
    return details;
  }
}

/**
 * Return a stepper whose rows all read a given text before they write.
 * @param {import('./beam.js').Stepper} stepper
 * @param {number[]} begin
 */
function begun(stepper, begin) {
  let isBegun = false;
  return {
    step: (/** @type {number[]} */ tokens) => {
      let found = stepper.step(tokens);
      if (!isBegun) for (const token of begin) found = stepper.step(tokens.map(() => token));
      isBegun = true;
      return found;
    },
    select: (/** @type {number[]} */ rows) => stepper.select(rows),
  };
}

/**
 * Return an empty recording, or throw an InputError if it would need too much memory.
 * @param {any} network
 * @param {Record<string, Field>} fields
 */
function recordingOf(network, fields) {
  /** @type {Record<string, number>} */
  const lengths = {};
  for (const [name, field] of Object.entries(fields)) lengths[name] = field.labels.length;
  /** @type {[string, string][]} */
  const sites = Object.values(network.sites);
  let count = 0;
  for (const [query, memory] of sites) {
    const areas = network.areas(memory, lengths[memory]).count;
    count += network.layers * network.heads * lengths[query] * areas;
  }
  if (count > MOST_WEIGHTS) {
    const size = Math.round((4 * count) / 2 ** 20), most = (4 * MOST_WEIGHTS) / 2 ** 20;
    throw new InputError(`The attention of this model would take ${size} MiB, but the limit is`
      + ` ${most} MiB. Choose a smaller largest area or a shorter text.`);
  }
  return new Recording(network.sites, network, (field, items) => network.areas(field, items), lengths);
}
