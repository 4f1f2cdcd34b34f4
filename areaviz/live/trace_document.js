// A trace as the JSON document that docs/trace.md specifies, with its arrays.

/** @typedef {import('./writing.js').Trace} Trace */
/** @typedef {{ shape: number[], data: Float32Array | Int32Array | Uint8Array }} PlainArray */

const FORMAT = 'areaviz trace', VERSION = 5;
/** Entries of a request that the engine does not read. */
const UNUSED = { seed: 0, sample: false, sound: null, clip: null, attribution: false };

/**
 * Return a trace as a document. Its `arrays` have a shape and the values, row by row.
 * @param {Trace} trace
 */
export function traceDocument(trace) {
  const { request, fields, output, maps, gazes = {}, details } = trace;
  return {
    format: FORMAT,
    version: VERSION,
    request: { ...UNUSED, ...request, picture: request.picture && request.picture.name },
    fields: Object.values(fields).map(({ name, kind, raw, labels }) => ({ name, kind, raw, labels })),
    output: { field: 'target', alternatives: output.map(({ alternatives }) => alternatives) },
    maps: Object.values(maps).map(({ site, query, memory, grid, normalisation }) => ({
      site,
      query,
      memory,
      normalisation,
      derived: '',
      grid: { height: grid.height, width: grid.width, max_height: grid.maxHeight, max_width: grid.maxWidth },
    })),
    gazes: Object.keys(gazes).map((site) => ({ site, query: 'target', memory: 'picture' })),
    details,
    arrays: arraysOf(trace),
  };
}

/**
 * Return the arrays of a trace by the names that `to_arrays` in areaviz/trace/document.py gives
 * them.
 * @param {Trace} trace
 */
function arraysOf({ request: { picture }, fields, output, maps, gazes = {} }) {
  const likely = Float32Array.from(output, ({ probability }) => probability);
  /** @type {Record<string, PlainArray>} */
  const arrays = { 'output.probabilities': { shape: [likely.length], data: likely } };
  for (const { name, anchors } of Object.values(fields)) {
    const shape = [anchors.length, anchors[0]?.length ?? 2];
    arrays[`field.${name}.anchors`] = { shape, data: Int32Array.from(anchors.flat()) };
  }
  for (const { site, layers, heads, queries, grid, weights, chosen } of Object.values(maps)) {
    arrays[`map.${site}.weights`] = { shape: [layers, heads, queries, grid.count], data: weights };
    if (chosen) arrays[`map.${site}.chosen`] = { shape: [layers, heads, queries], data: Int32Array.from(chosen) };
  }
  for (const { site, corners, seen, shape: [steps, scales, side] } of Object.values(gazes)) {
    arrays[`gaze.${site}.corners`] = { shape: [steps, scales, 4, 2], data: corners };
    arrays[`gaze.${site}.seen`] = { shape: [steps, scales, side, side], data: seen };
  }
  if (picture) {
    arrays['request.picture'] = { shape: [picture.height, picture.width, 3], data: picture.pixels };
  }
  return arrays;
}
