// A request to a model, as in areaviz/trace/request.py. docs/trace.md describes its entries.

/** @typedef {import('./pictures.js').Picture} Picture */
/**
 * @typedef {object} Request
 * @property {string} model
 * @property {string} text
 * @property {'greedy' | 'beam'} method
 * @property {number} beam
 * @property {number | null} area_size null for the size that the model was trained with
 * @property {string | null} target a given output; null if the model writes one
 * @property {string} changes see interventions.js
 * @property {(Picture & { name: string }) | null} picture for models that describe pictures
 */

/** @type {Omit<Request, 'model' | 'text'>} */
const DEFAULTS = { method: 'greedy', beam: 4, area_size: null, target: null, changes: '', picture: null };
const LONGEST_TEXT = 4096, WIDEST_BEAM = 16;
const BREAKS = /[\t\n\v\f\r\x1c-\x1e\x85\u2028\u2029]/g;

/** A problem that a reader can solve. Its message says how. */
export class InputError extends Error {}

/**
 * Return a request that is ready to run, with every line break and tab replaced by one blank.
 * @param {string} model
 * @param {Partial<Request>} given
 * @returns {Request}
 */
export function checkedRequest(model, given) {
  const request = { text: '', ...DEFAULTS, ...given, model };
  if (!['greedy', 'beam'].includes(request.method)) {
    throw new InputError(`There is no decoding method "${request.method}". Choose greedy or beam.`);
  }
  if (!Number.isInteger(request.beam) || request.beam < 1 || request.beam > WIDEST_BEAM) {
    throw new InputError(`"beam" is ${request.beam} but must be a whole number from 1 to ${WIDEST_BEAM}.`);
  }
  const target = request.target === null ? null : checkedText(request.target);
  return { ...request, text: checkedText(request.text), target };
}

/** @param {string} text */
function checkedText(text) {
  const length = [...text].length;
  if (length > LONGEST_TEXT) {
    throw new InputError(`The text has ${length} characters, but the limit is ${LONGEST_TEXT}.`
      + ` Shorten it by ${length - LONGEST_TEXT}.`);
  }
  return text.replace(BREAKS, ' ');
}
