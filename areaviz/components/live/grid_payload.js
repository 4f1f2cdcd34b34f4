// The message of one site and layer of a trace for the image grid, without the picture, as
// `make_grid_payload` in areaviz/interactive/grid.py makes it. Shapes: H heads, Q queries, N cells.

import { coverageOf, sentAreas, sharesOf } from './map_algebra.js';
import { RankedRows, narrow, quantised } from './payload_arrays.js';
import { rowsByHead, sharedHeader, textArrays } from './payload_parts.js';

/** @typedef {import('./payload_arrays.js').Integers} Integers */
/** @typedef {import('./payload_parts.js').Constants} Constants */
/** @typedef {import('./recording.js').AttentionMap} AttentionMap */
/** @typedef {import('./writing.js').Trace} Trace */
/**
 * @typedef {object} GridConstants the numbers that Python writes into a page for the grid
 * @property {number} kept areas of a query that are sent
 * @property {[number, number][]} wanted numbers of top areas, each with its largest overlap
 * @property {number} coarse largest side of a picture whose pixels are shown as squares
 * @property {object} lit settings of the highlighted areas, see areaviz/interactive/grid.py
 * @property {string[]} heat colours of shares
 */

/**
 * Return the header and the arrays of a layer.
 * @param {Trace} trace a trace with a picture
 * @param {string} site
 * @param {number} layer
 * @param {Constants & { grid: GridConstants }} constants
 */
export function gridPayload(trace, site, layer, constants) {
  const map = trace.maps[site], own = constants.grid;
  const query = trace.fields[map.query], memory = trace.fields[map.memory];
  const { picture } = trace.request;
  if (!picture) throw new Error(`The site "${site}" does not attend to cells of a picture.`);
  const { arrays, keep } = cellArrays(map, layer, own);
  arrays.cells = narrow(memory.anchors.flat(), Math.max(picture.width, picture.height));
  if (map.chosen) {
    const rows = rowsByHead(map, layer).flat(), first = layer * rows.length;
    const read = map.chosen.slice(first, first + rows.length);
    arrays.read = Uint32Array.from(read);
    arrays.read_weight = quantised(rows.map((row, i) => row[read[i]]), 65535);
  }
  const isText = query.kind === 'text';
  if (isText) Object.assign(arrays, textArrays(query));
  const title = constants.names[map.query];
  const header = {
    ...sharedHeader(trace, map, layer, arrays, { ...constants, lit: own.lit }),
    keep,
    text: isText ? { title, raw: query.raw, labels: query.labels } : null,
    picture: {
      title: constants.names[map.memory],
      size: [picture.width, picture.height],
      coarse: Math.max(picture.width, picture.height) <= own.coarse,
    },
    heat: own.heat,
  };
  return { header, arrays };
}

/**
 * Return the areas of every query that are sent, and the shares of the cells.
 * @param {AttentionMap} map
 * @param {number} layer
 * @param {GridConstants} constants
 */
function cellArrays(map, layer, { kept, wanted }) {
  const areas = map.grid.areas(), count = Math.min(kept, areas.length);
  /** @type {Record<string, Integers>} */
  const arrays = { share: storedShares(map, layer) };
  /** @type {Record<string, number>} */
  const keep = {};
  const largest = map.grid.maxHeight * map.grid.maxWidth;
  for (const [name, smallest] of /** @type {[string, number][]} */ ([['area', 1], ['several', 2]])) {
    if (smallest > largest) continue;
    const ranked = new RankedRows(count);
    const left = rowsByHead(map, layer).flat().map((row) => {
      const chosen = sentAreas(row, areas, count, wanted, smallest);
      ranked.add(chosen, row, 0);
      return heaviestLeft(row, areas, new Set(chosen), smallest);
    });
    keep[name] = count;
    arrays[name] = narrow(ranked.index, areas.length);
    arrays[`${name}_weight`] = quantised(ranked.weight, 65535);
    arrays[`${name}_left`] = quantised(left, 65535);
  }
  return { arrays, keep };
}

/**
 * Return the weight of the heaviest area that is not sent.
 * @param {Float32Array} row
 * @param {import('./area_grid.js').Area[]} areas
 * @param {Set<number>} sent
 * @param {number} smallest
 */
function heaviestLeft(row, areas, sent, smallest) {
  return row.reduce((heaviest, weight, area) => {
    const isLarge = areas[area].height * areas[area].width >= smallest;
    return isLarge && weight > heaviest && !sent.has(area) ? weight : heaviest;
  }, 0);
}

/**
 * Return the shares of the cells relative to the largest of each query: [H, Q, N].
 * @param {AttentionMap} map
 * @param {number} layer
 */
function storedShares(map, layer) {
  const stored = rowsByHead(map, layer).flat().flatMap((row) => {
    const shares = sharesOf(coverageOf(row, map.grid));
    const largest = shares.reduce((most, share) => Math.max(most, share), 0);
    return Array.from(shares, (share) => (largest ? Math.fround(share / largest) : 0));
  });
  return quantised(stored, 255);
}
