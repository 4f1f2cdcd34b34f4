// The model around any generating network, as in areaviz/models/writing.py: a request in, a trace out.

import { Birnn } from './birnn.js';
import { search } from './beam.js';
import { CaptionTransformer } from './captioner.js';
import { Changes, readChanges } from './interventions.js';
import { LstmTranslator } from './lstm.js';
import { outputNotes } from './output_notes.js';
import { Recording, cellField, outputItems, textField, writtenFields } from './recording.js';
import { LanguageNetwork } from './text_decoder.js';
import { END, START, Tokenizer } from './tokenizer.js';
import { Transformer } from './transformer.js';
import { Weights } from './weights.js';

/** @typedef {import('./beam.js').Hypothesis} Hypothesis */
/** @typedef {import('./beam.js').OnStep} OnStep */
/** @typedef {import('./recording.js').AttentionMap} AttentionMap */
/** @typedef {import('./recording.js').Field} Field */
/** @typedef {import('./recording.js').OutputItem} OutputItem */
/** @typedef {import('./resize.js').Picture} Picture */
/** @typedef {import('./tokenizer.js').Pieces} Pieces */
/** @typedef {import('./tokenizer.js').Token} Token */
/**
 * @typedef {object} Request docs/trace.md describes its entries
 * @property {string} model
 * @property {string} text
 * @property {'greedy' | 'beam'} method
 * @property {number} beam
 * @property {number | null} area_size
 * @property {string | null} target
 * @property {string} changes
 * @property {(Picture & { name: string }) | null} picture for models that describe pictures
 */
/**
 * @typedef {object} Card what the engine reads of a model's card
 * @property {string} name
 * @property {string} family
 * @property {string} level
 * @property {number} trainedLength
 * @property {any} config
 * @property {{ ratio: number, extra: number } | null} lengthLimit
 * @property {number} lengthPenalty
 */
/**
 * @typedef {object} Trace
 * @property {Request} request
 * @property {Record<string, Field>} fields
 * @property {OutputItem[]} output
 * @property {Record<string, AttentionMap>} maps
 * @property {Record<string, string>} details
 */
/** @typedef {Record<string, any>} Inputs */

// The defaults of a request are those of areaviz/trace/request.py.
/** @type {Omit<Request, 'model' | 'text'>} */
const DEFAULTS = { method: 'greedy', beam: 4, area_size: null, target: null, changes: '', picture: null };
const LONGEST_TEXT = 4096, MOST_WEIGHTS = 2 ** 26;
const LEAST_PROBABILITY = 2 ** -126;
const BREAKS = /[\t\n\v\f\r\x1c-\x1e\x85\u2028\u2029]/g;

/** @type {Record<string, new (config: any, weights: Weights) => any>} */
const NETWORKS = {
  transformer: Transformer,
  'text decoder': LanguageNetwork,
  lstm: LstmTranslator,
  birnn: Birnn,
  captioner: CaptionTransformer,
};

/** A problem that a reader can solve; its message says how. */
export class InputError extends Error {}

/** A model that generates a sequence and records its attention. */
export class WritingModel {
  /**
   * @param {Card} card
   * @param {ArrayBuffer} weights the bytes of model.safetensors
   * @param {Pieces} pieces
   */
  constructor(card, weights, pieces) {
    this.card = card;
    this.weights = new Weights(weights);
    this.tokenizer = new Tokenizer(pieces);
    this.network = new NETWORKS[card.family](card.config, this.weights);
  }

  /**
   * Generate the output for a request and record one pass over it.
   * @param {Partial<Request>} given
   * @param {OnStep | null} onStep
   * @returns {Trace}
   */
  trace(given, onStep = null) {
    const request = checked({ model: this.card.name, text: '', ...DEFAULTS, ...given });
    const network = this.resized(request.area_size);
    const changes = new Changes(readChanges(request.changes), network.sites);
    const inputs = this.read(request);
    const found = request.target === null
      ? this.write(network, request, inputs, changes, onStep)
      : givenOutput(this.tokenizer, this.givenText(request));
    const fields = { ...this.inputFields(request), ...this.outputFields(request, found.ids) };
    const lengths = Object.fromEntries(
      Object.entries(fields).map(([name, field]) => [name, field.labels.length]));
    const recording = recordingOf(network, lengths);
    const logits = network.attend(inputs, [START, ...found.ids.slice(0, -1)], changes, recording);
    const output = outputItems(logits, found.ids, this.tokenizer);
    const details = this.details(request, found, output);
    return { request, fields, output, maps: recording.maps, details };
  }

  /**
   * Return the network with another largest area.
   * @param {number | null} areaSize
   */
  resized(areaSize) {
    const { config, family, title = this.card.name } = /** @type {any} */ (this.card);
    if (areaSize === null || areaSize === config.area_size) return this.network;
    const known = config.known_size || config.area_size;
    if (!('area_size' in config) || (config.key_mode !== 'mean' && areaSize > known)) {
      throw new InputError(`${title} knows areas of up to ${known ?? 1} items. Choose a smaller largest area.`);
    }
    const layers = config.area_layers || config.layers;
    return new NETWORKS[family]({ ...config, area_size: areaSize, area_layers: layers }, this.weights);
  }

  /**
   * Return what the network reads of a request.
   * @param {Request} request
   * @returns {Inputs}
   */
  read(request) {
    if (this.readsPictures) {
      if (!request.picture) throw new InputError('This model describes pictures; choose or upload one.');
      return { picture: request.picture };
    }
    const tokens = this.readTokens(request);
    if (!tokens.some(({ text }) => text.trim())) {
      throw new InputError('The text has no visible character; type a sentence, for example: A dog runs.');
    }
    return this.isLanguageModel ? {} : { source: this.tokenizer.idsOf(request.text) };
  }

  /** Whether the model describes pictures. */
  get readsPictures() {
    return this.card.family === 'captioner';
  }

  /**
   * Return the tokens of the text that the model reads.
   * @param {Request} request
   */
  readTokens(request) {
    if (this.readsPictures) return [];
    return this.tokenizer.tokens(this.isLanguageModel ? this.givenText(request) : request.text);
  }

  /** Whether the model has one text, which it reads and continues. */
  get isLanguageModel() {
    return this.card.family === 'text decoder';
  }

  /**
   * Return the text that a given output consists of: for a language model, with the text before it.
   * @param {Request} request
   */
  givenText({ text, target }) {
    return this.isLanguageModel ? text + (target ?? '') : target ?? '';
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
    const begin = this.isLanguageModel ? this.tokenizer.idsOf(request.text).slice(0, -1) : [];
    const stepper = begun(network.write(inputs, changes), begin);
    const { lengthLimit: longest, lengthPenalty: alpha } = this.card;
    const limit = longest && inputs.source
      ? Math.ceil(longest.ratio * inputs.source.length) + longest.extra : network.longest;
    const width = request.method === 'greedy' ? 1 : request.beam;
    const found = search(stepper, { start: START, end: END, limit, width, alpha }, onStep);
    // The search knows only the probability of a continuation, so that of its text is summed later.
    const logProbability = begin.length ? NaN : found.logProbability;
    return { ...found, ids: [...begin, ...found.ids], logProbability };
  }

  /**
   * Return the fields of the inputs.
   * @param {Request} request
   * @returns {Record<string, Field>}
   */
  inputFields({ text, picture }) {
    if (this.isLanguageModel) return {};
    if (picture && this.readsPictures) return { picture: cellField(picture, this.card.config.grid) };
    return { source: textField('source', text, this.tokenizer.tokens(text), { end: true }) };
  }

  /**
   * Return the fields of the output. A text that a language model continues is kept as typed.
   * @param {Request} request
   * @param {number[]} ids
   */
  outputFields(request, ids) {
    const whole = this.tokenizer.decode(ids);
    if (!this.isLanguageModel) return writtenFields(whole.text, whole.tokens, ids.at(-1) === END);
    const text = this.givenText(request);
    const tokens = this.tokenizer.tokens(text);
    const before = [...this.tokenizer.decode(ids.slice(0, tokens.length)).text].length;
    const shift = [...text].length - before;
    for (const token of whole.tokens.slice(tokens.length)) {
      tokens.push({ ...token, start: token.start + shift, end: token.end + shift });
    }
    const written = [...whole.text].slice(before).join('');
    return writtenFields(text + written, tokens, ids.at(-1) === END);
  }

  /**
   * Return the details of a trace: the probability of the output, and warnings.
   * @param {Request} request
   * @param {Hypothesis} found
   * @param {OutputItem[]} output
   */
  details(request, found, output) {
    // A probability may underflow to 0 in single precision, and its logarithm must still be finite.
    const summed = output.reduce((total, { probability }) => (
      total + Math.log(Math.max(probability, LEAST_PROBABILITY))), 0);
    const total = Number.isNaN(found.logProbability) ? summed : found.logProbability;
    /** @type {Record<string, string>} */
    const details = { device: 'browser', 'log-probability': total.toFixed(3) };
    const tokens = this.readTokens(request);
    const written = found.ids.length - (this.isLanguageModel ? tokens.length : 0);
    const warnings = outputNotes(this.card, tokens, written, found.finished);
    if (warnings.length) details.warning = warnings.join(' ');
    return details;
  }
}

/**
 * Return a request that is ready to run, with every line break and tab replaced by one blank.
 * @param {Request} request
 */
function checked(request) {
  const length = [...request.text].length;
  if (length > LONGEST_TEXT) {
    throw new InputError(`The text has ${length} characters, but at most ${LONGEST_TEXT} are possible.`
      + ` Shorten it by ${length - LONGEST_TEXT}.`);
  }
  const target = request.target === null ? null : request.target.replace(BREAKS, ' ');
  return { ...request, text: request.text.replace(BREAKS, ' '), target };
}

/**
 * Return a given output as a hypothesis. Its probability is taken from the pass over it.
 * @param {Tokenizer} tokenizer
 * @param {string} text
 * @returns {Hypothesis}
 */
function givenOutput(tokenizer, text) {
  return { ids: tokenizer.idsOf(text), logProbability: NaN, finished: true };
}

/**
 * Return a stepper whose rows all read a text before they write.
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
 * Return an empty recording, or refuse one that would take too much memory.
 * @param {any} network
 * @param {Record<string, number>} lengths
 */
function recordingOf(network, lengths) {
  let count = 0;
  for (const [query, memory] of Object.values(/** @type {Record<string, [string, string]>} */ (network.sites))) {
    const areas = network.areas(memory, lengths[memory]).count;
    count += network.layers * network.heads * lengths[query] * areas;
  }
  if (count > MOST_WEIGHTS) {
    const size = Math.round((4 * count) / 2 ** 20), most = (4 * MOST_WEIGHTS) / 2 ** 20;
    throw new InputError(`The attention of this model would take ${size} MiB but at most ${most} MiB are`
      + ' possible; choose a smaller largest area or a shorter text.');
  }
  return new Recording(network.sites, network, (field, items) => network.areas(field, items), lengths);
}
