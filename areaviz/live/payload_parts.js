// The arrays of a component's message: unsigned integers, as areaviz/views/message.py makes
// them.

import { largestOf } from './beam.js';
import { sum, densestAreas, coverageOf, sharesOf } from './map_algebra.js';
import { wordsOf } from './words.js';
import { firstItem } from './first_look.js';
import { roundHalfToEven } from './recording.js';

/** @typedef {Uint8Array | Uint16Array | Uint32Array} Integers */

/** The largest entries of every row, and the sum of the other entries. */
export class RankedRows {
  /** @param {number} kept entries of a row */
  constructor(kept) {
    this.kept = kept;
    /** @type {number[]} */
    this.index = [];
    /** @type {number[]} */
    this.weight = [];
    /** @type {number[]} */
    this.rest = [];
  }

  /**
   * Add the chosen entries of a row. Missing entries get index 0 and weight 0.
   * @param {number[]} chosen
   * @param {Float32Array} values
   * @param {number} whole the sum of the row
   */
  add(chosen, values, whole) {
    for (let place = 0; place < this.kept; place += 1) {
      const weight = place < chosen.length ? values[chosen[place]] : 0;
      this.index.push(weight > 0 ? chosen[place] : 0);
      this.weight.push(weight > 0 ? weight : 0);
    }
    this.rest.push(Math.max(whole - sum(this.weight.slice(-this.kept)), 0));
  }
}

/**
 * Return lists as arrays of a message.
 * @param {Record<string, RankedRows>} lists
 * @param {number} largest
 * @param {boolean} isRoomy whether weights have 16 bits, and the sums of other entries are sent
 */
export function listArrays(lists, largest, isRoomy) {
  /** @type {Record<string, Integers>} */
  const arrays = {};
  /** @type {Record<string, number>} */
  const keep = {};
  for (const [name, { index, weight, rest, kept }] of Object.entries(lists)) {
    keep[name] = kept;
    arrays[name] = narrow(index, largest);
    arrays[`${name}_weight`] = quantised(weight, isRoomy ? 65535 : 255);
    if (isRoomy) arrays[`${name}_rest`] = quantised(rest, 65535);
  }
  return { arrays, keep };
}

/**
 * Store whole numbers in 2 bytes each, or in 4 if `largest` needs them.
 * @param {number[]} values
 * @param {number} largest
 */
export function narrow(values, largest) {
  return largest < 65536 ? Uint16Array.from(values) : Uint32Array.from(values);
}

/**
 * Store weights from 0 to 1 on a square-root scale. Halves are rounded to even, as in Python.
 * @param {number[]} values
 * @param {number} largest the stored value of 1
 */
export function quantised(values, largest) {
  const stored = largest < 256 ? new Uint8Array(values.length) : new Uint16Array(values.length);
  values.forEach((value, i) => {
    const root = Math.fround(Math.sqrt(Math.min(Math.max(Math.fround(value), 0), 1)));
    stored[i] = roundHalfToEven(Math.fround(root * largest));
  });
  return stored;
}

// Common parts of the messages for ribbon and grid: smallest areas and averages, texts and
// captions.


/** @typedef {import('./recording.js').AttentionMap} AttentionMap */
/** @typedef {import('./recording.js').Field} Field */
/** @typedef {import('./writing.js').Trace} Trace */
/**
 * @typedef {object} Constants the numbers and names that Python writes into a page
 * @property {number} top number of highlighted areas
 * @property {number} overlap largest overlap of these
 * @property {number} entries entries of each kind that are sent
 * @property {number} roomy largest number of rows with many entries of 16 bits
 * @property {number} most largest number of entries of a row
 * @property {number} work largest number of places in which smallest areas are searched
 * @property {number[]} masses the shares of smallest areas, in per cent
 * @property {number} mass the default one
 * @property {number} sink share of a head's mean map that makes an item a sink
 * @property {Record<string, string>} names titles of fields
 * @property {Record<string, string>} looks the kind of drawing of the looks of each site
 * @property {object} header entries of the header that are equal for all traces
 */

/** The field with what the model wrote. */
export const OUTPUT = 'target';

/**
 * Return the weights of a layer's queries, head by head.
 * @param {AttentionMap} map
 * @param {number} layer
 */
export function rowsByHead({ heads, queries, grid, weights }, layer) {
  return Array.from({ length: heads }, (_, head) => Array.from({ length: queries }, (__, query) => {
    const first = ((layer * heads + head) * queries + query) * grid.count;
    return weights.subarray(first, first + grid.count);
  }));
}

/**
 * Return the entries of the header that ribbon and grid have in common, and add their arrays.
 * @param {Trace} trace
 * @param {AttentionMap} map
 * @param {number} layer
 * @param {Record<string, Integers>} arrays
 * @param {Constants & { lit: object }} constants with the settings of highlighted areas
 */
export function sharedHeader(trace, map, layer, arrays, constants) {
  const { grid, heads } = map, query = trace.fields[map.query];
  return {
    heads,
    grid: [grid.height, grid.width, grid.maxHeight, grid.maxWidth],
    lit: { ...constants.lit, items: firstItem(rowsByHead(map, layer), grid, query) },
    written: map.query === OUTPUT,
    ...addReadings(arrays, map, layer, query, constants),
    ...constants.header,
    caption: captionParts(trace, map, layer),
  };
}

/**
 * Add the smallest areas and the average map of every head, and return masses and sinks.
 * @param {Record<string, Integers>} arrays
 * @param {AttentionMap} map
 * @param {number} layer
 * @param {Field} query
 * @param {Constants} constants
 */
function addReadings(arrays, map, layer, query, { work, masses: all, mass, sink }) {
  const single = query.labels.map((_, item) => [item, item + 1]);
  const words = query.kind === 'text' ? wordsOf(query) : [];
  const runs = [...single, ...words.filter(([first, end]) => end - first > 1)];
  const places = map.heads * runs.length * map.grid.items * map.grid.height;
  const one = places <= work ? [mass] : [];
  const masses = places * all.length <= work ? all : one;
  /** @type {number[]} */
  const averages = [];
  /** @type {number[]} */
  const ends = [];
  /** @type {number[]} */
  const held = [];
  /** @type {[number, number, number][]} */
  const sinks = [];
  rowsByHead(map, layer).forEach((rows, head) => {
    const shares = rows.map((row) => sharesOf(coverageOf(row, map.grid)));
    const average = averageMap(shares, map.grid.items);
    averages.push(...average.mean);
    const [item] = largestOf(average.mean, 1);
    if (average.seen > 1 && map.grid.items > 1 && average.mean[item] > sink) {
      sinks.push([head, item, +average.mean[item].toFixed(4)]);
    }
    for (const [first, end] of masses.length ? runs : []) {
      for (const span of densestAreas(meanOf(shares.slice(first, end)), map.grid, masses)) {
        ends.push(span.first, span.last);
        held.push(span.share);
      }
    }
  });
  arrays.average = quantised(averages, 65535);
  if (masses.length) {
    arrays.densest = narrow(ends, map.grid.items);
    arrays.densest_weight = quantised(held, 65535);
  }
  return { masses, sinks };
}

/**
 * Return the mean of the rows that are not fully masked, and their number.
 * @param {Float32Array[]} rows
 * @param {number} items
 */
function averageMap(rows, items) {
  const seen = rows.filter((row) => row.some((share) => share !== 0)).length;
  const mean = new Float64Array(items);
  for (const row of rows) row.forEach((share, item) => { mean[item] += share; });
  return { seen, mean: mean.map((total) => total / Math.max(seen, 1)) };
}

/**
 * Return the mean of rows.
 * @param {Float32Array[]} rows
 */
function meanOf(rows) {
  const mean = new Float32Array(rows[0].length);
  for (const row of rows) row.forEach((share, item) => { mean[item] += share; });
  return mean.map((total) => total / rows.length);
}

/**
 * Return the start and end of a text's items in characters, and the first item of every word.
 * @param {Field} field
 * @returns {Record<string, Integers>}
 */
export function textArrays(field) {
  const largest = Math.max([...field.raw].length, field.labels.length) + 1;
  return {
    start: narrow(field.anchors.map(([start]) => start), largest),
    end: narrow(field.anchors.map(([, end]) => end), largest),
    word: narrow(wordsOf(field).map(([first]) => first), largest),
  };
}

/**
 * Return the two parts of a figure's caption. The ribbon writes the shown heads between them.
 * @param {Trace} trace
 * @param {AttentionMap} map
 * @param {number} layer
 */
function captionParts({ request, fields }, { site, layers, heads, grid, normalisation }, layer) {
  const short = request.method === 'greedy' ? 'greedy' : `beam ${request.beam}`;
  const how = request.target === null ? short : 'given text';
  const model = fields.history ? `${request.model}, ${how}` : request.model;
  const where = layers > 1 ? `${site}, layer ${layer + 1} of ${layers}` : site;
  const areas = areasWords(grid);
  const count = request.changes.split(';').filter(Boolean).length;
  const changes = count ? ` · with ${count} change${count > 1 ? 's' : ''}` : '';
  const end = ` · ${normalisation}, ${areas}${changes}`;
  return heads > 1 ? [`${model} · ${where}, `, end] : [`${model} · ${where}${end}`, ''];
}

/**
 * Describe the largest area, such as "areas up to 3 items". For pictures, it counts cells.
 * @param {import('./attention.js').AreaGrid} grid
 */
function areasWords({ height, width, maxHeight, maxWidth }) {
  if (maxHeight === 1 && maxWidth === 1) {
    return height === 1 ? 'single items' : `single cells of ${height}×${width}`;
  }
  if (height === 1) return `areas up to ${maxWidth} items`;
  return `areas up to ${maxHeight}×${maxWidth} cells of ${height}×${width}`;
}
