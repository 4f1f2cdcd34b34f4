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
export function traceDocument({ request, fields, output, maps, details }) {
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
      normalisation: normalisation ?? 'softmax over areas',
      derived: '',
      grid: {
        height: grid.height,
        width: grid.width,
        max_height: grid.maxHeight,
        max_width: grid.maxWidth,
      },
    })),
    gazes: [],
    details,
    arrays: arraysOf({ request, fields, output, maps }),
  };
}

/**
 * Return the arrays of a trace by the names that `to_arrays` in areaviz/trace/document.py gives them.
 * @param {Pick<Trace, 'request' | 'fields' | 'output' | 'maps'>} trace
 */
function arraysOf({ request: { picture }, fields, output, maps }) {
  const likely = Float32Array.from(output, ({ probability }) => probability);
  /** @type {Record<string, PlainArray>} */
  const arrays = { 'output.probabilities': { shape: [likely.length], data: likely } };
  for (const { name, anchors } of Object.values(fields)) {
    const shape = [anchors.length, anchors[0]?.length ?? 2];
    arrays[`field.${name}.anchors`] = { shape, data: Int32Array.from(anchors.flat()) };
  }
  for (const { site, layers, heads, queries, grid, weights } of Object.values(maps)) {
    arrays[`map.${site}.weights`] = { shape: [layers, heads, queries, grid.count], data: weights };
  }
  if (picture) {
    arrays['request.picture'] = { shape: [picture.height, picture.width, 3], data: picture.pixels };
  }
  return arrays;
}
