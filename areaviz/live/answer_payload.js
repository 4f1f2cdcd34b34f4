// Messages of a trace for the components `points`, `hops` and `looks`, as in areaviz/views:
// points/points.py, facts/facts.py and looks/looks.py.

import { readChanges } from './interventions.js';
import { rowsOf } from './linear.js';

/** @typedef {import('./writing.js').Trace} Trace */

const SURE = 0.99;
const SIZES = /** @type {Record<string, string[]>} */ ({ hull: ['area', 'exact area'], tour: ['length', 'shortest'] });

/**
 * Return the points, the answer and the weights.
 * @param {Trace} trace
 * @param {string} site
 */
export function pointsPayload({ maps, fields, output, details }, site) {
  const { memory, query, weights, grid } = maps[site];
  const exact = (details.exact ?? '').split(' ').filter(Boolean).map((label) => +label - 1);
  const sure = output.map(({ probability }) => probability), least = Math.min(...sure);
  return {
    header: {
      points: fields[memory].anchors,
      chosen: fields[query].labels.map((label) => +label - 1),
      exact: exact.length ? [...exact, exact[0]] : [],
      kind: details.kind ?? '',
      sizes: (SIZES[details.kind] ?? []).filter((name) => name in details).map((name) => +details[name]),
      weights: roundedRows(weights, grid.count),
      items: [least < SURE ? sure.indexOf(least) : Math.floor(sure.length / 2)],
    },
    arrays: {},
  };
}

/**
 * Return the facts, the answer and the weights of all hops.
 * @param {Trace} trace
 * @param {string} site
 */
export function hopsPayload({ request, maps, fields, output }, site) {
  const { memory, query, weights, grid, heads } = maps[site];
  const hidden = /** @type {Set<number>} */ (new Set());
  for (const { kind, name, items } of readChanges(request.changes)) {
    if (kind === 'hide' && name === memory) for (const item of items) hidden.add(item);
  }
  return {
    header: {
      heads,
      facts: fields[memory].labels,
      question: fields[query].raw,
      answer: fields.target.raw,
      sure: rounded(output[0].probability),
      expected: '',
      needed: [],
      hidden: [...hidden].sort((one, other) => one - other),
      weights: roundedRows(weights, grid.count),
    },
    arrays: {},
  };
}

/**
 * Return places, labels and probabilities of all looks.
 * @param {Trace} trace
 * @param {string} site
 * @param {number} layer
 * @param {import('./payload_parts.js').Constants} constants
 */
export function looksPayload({ request, fields, output, details, gazes = {} }, site, layer, { looks }) {
  const { corners, shape: [steps, scales] } = gazes[site];
  const places = rowsOf(corners, 2).map((place) => Array.from(place, (at) => Math.round(at * 10) / 10));
  const frames = Array.from({ length: steps * scales }, (_, frame) => places.slice(4 * frame, 4 * frame + 4));
  const reader = {
    title: request.model,
    what: looks[site],
    size: [request.picture?.width, request.picture?.height],
    corners: Array.from({ length: steps }, (_, step) => frames.slice(step * scales, (step + 1) * scales)),
    labels: fields.target.labels,
    sure: output.map(({ probability }) => Math.round(100 * probability)),
    answer: details.answer,
    notes: details.warning ? [details.warning] : [],
  };
  return { header: { digits: '', items: [steps - 1], readers: [reader] }, arrays: {} };
}

/** @param {number} share */
function rounded(share) {
  return Math.round(share * 10_000) / 10_000;
}

/**
 * @param {Float32Array} weights
 * @param {number} width
 */
function roundedRows(weights, width) {
  return rowsOf(weights, width).map((row) => Array.from(row, rounded));
}
