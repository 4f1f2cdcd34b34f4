// The engine in a worker. A page sends {number, call, given} and gets {number, answer} or {number,
// error}. While a model writes, it also gets {number, progress}. Weights and traces stay in the
// worker.

import { decodeBase64 } from './base64.js';
import { hopsPayload, looksPayload, pointsPayload } from './answer_payload.js';
import { whyPayload, gridPayload, ribbonPayload } from './payloads.js';
import { traceDocument } from './trace_document.js';
import { modelOf } from './models.js';

/** @typedef {import('./payloads.js').GridConstants} GridConstants */
/** @typedef {import('./writing.js').Trace} Trace */

const worker = /** @type {any} */ (globalThis);
/** @type {import('./models.js').Model | null} */
let model = null;
/** @type {(import('./payload_parts.js').Constants & { grid: GridConstants }) | null} */
let constants = null;
/** @type {Trace | null} the trace that the page shows */
let shown = null;

/** @type {Record<string, (trace: Trace, site: string, layer: number, constants: any) => object>} */
const PAYLOADS = { picture: gridPayload, points: pointsPayload, facts: hopsPayload, looks: looksPayload };

/** @type {Record<string, (given: any, onStep: import('./beam.js').OnStep) => unknown>} */
const CALLS = {
  load(given) {
    model = modelOf(given.card, decodeBase64(given.weights), given.pieces);
    constants = given.constants;
    return null;
  },
  /** Run a request and return its trace document. */
  run(request, onStep) {
    return traceDocument(loaded().trace(request, onStep));
  },
  /** Run a request for the page and return everything that it shows except the maps. */
  show(request, onStep) {
    shown = loaded().trace(request, onStep);
    const { fields, output, details } = shown;
    return { request: shown.request, fields, output, details };
  },
  /** Explain the weight of an area in the trace of the page. */
  why(asked) {
    return whyPayload(traced(), asked);
  },
  payload({ site, layer }) {
    // A site that has no map has looks at a picture.
    const trace = traced(), { kind } = trace.fields[trace.maps[site]?.memory] ?? { kind: 'looks' };
    return (PAYLOADS[kind] ?? ribbonPayload)(trace, site, layer, constants);
  },
};

function traced() {
  if (!shown) throw new Error('No trace is shown.');
  return shown;
}

function loaded() {
  if (!model) throw new Error('The model is not loaded.');
  return model;
}

/** Answer one message of the page. */
function answer(/** @type {MessageEvent} */ { data: { number, call, given } }) {
  const since = performance.now();
  const onStep = (/** @type {number} */ done, /** @type {number} */ most, /** @type {number[]} */ ids) => {
    const text = loaded().tokenizer?.decode(ids).text ?? '';
    worker.postMessage({ number, progress: { done, most, text } });
  };
  try {
    const found = CALLS[call](given, onStep);
    worker.postMessage({ number, answer: found, milliseconds: performance.now() - since });
  } catch (error) {
    worker.postMessage({ number, error: `${/** @type {any} */ (error)?.message ?? error}` });
  }
}

worker.onmessage = answer;
