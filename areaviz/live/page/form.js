// The form of a live page: its request, and its messages while the model runs.

/** @typedef {import('./engine_client.js').Progress} Progress */
/** @typedef {import('../request.js').Request} Request */

/**
 * Return the element of the page with an id, or throw an error if there is none.
 * @param {string} id
 */
export function elementOf(id) {
  const found = document.getElementById(id);
  if (!found) throw new Error(`The page has no element "${id}".`);
  return /** @type {any} */ (found);
}

/**
 * Return the request of the form.
 * @returns {Partial<Request>}
 */
export function formRequest() {
  // Some models have no decoding, no areas or no text.
  const valueOf = (/** @type {string} */ id) => /** @type {any} */ (document.getElementById(id))?.value ?? '';
  const [method, beam] = (valueOf('live-decoding') || 'greedy 1').split(' ');
  const size = valueOf('live-area'), text = valueOf('live-text');
  return { text, method, beam: +beam, area_size: size ? +size : null };
}

/** @param {boolean} isBusy */
export function setBusy(isBusy) {
  elementOf('live-run').disabled = isBusy;
  elementOf('live-stop').hidden = !isBusy;
  if (isBusy) tell('Reading…');
}

/**
 * Describe the progress or a problem.
 * @param {string} status
 * @param {string} problem
 */
export function tell(status, problem = '') {
  elementOf('live-status').textContent = status;
  const alert = elementOf('live-problem');
  alert.textContent = problem;
  alert.hidden = !problem;
}

/** @param {Progress} progress */
export function showProgress({ done, most, text }) {
  tell(`Item ${done} of at most ${most}: ${text}`);
}
