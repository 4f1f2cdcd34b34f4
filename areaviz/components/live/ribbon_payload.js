// What the ribbon shows of one site and layer of a trace, as `ribbon_payload` in
// areaviz/interactive/ribbon.py makes it. Shapes: H heads, Q queries, N items, K kept.

import { largestOf } from './beam.js';
import { firstItem } from './first_look.js';
import { coverageOf, densestSpans, sentAreas, sharesOf, sum } from './map_algebra.js';
import { RankedRows, listArrays, narrow, quantised } from './payload_arrays.js';
import { wordsOf } from './words.js';

/** @typedef {import('./recording.js').AttentionMap} AttentionMap */
/** @typedef {import('./recording.js').Field} Field */
/** @typedef {import('./writing.js').Trace} Trace */
/** @typedef {import('./payload_arrays.js').Integers} Integers */
/**
 * @typedef {object} Constants the numbers and names that Python writes into a page
 * @property {number} top areas that light up
 * @property {number} overlap largest overlap of these
 * @property {number} entries entries of each kind that are sent
 * @property {number} roomy largest number of rows with many entries of 16 bits
 * @property {number} most largest number of entries of a row
 * @property {number} work largest number of places in which smallest areas are searched
 * @property {number[]} masses
 * @property {number} mass the default one
 * @property {number} sink share of a head's mean map that makes an item a sink
 * @property {Record<string, string>} names titles of fields
 * @property {object} header entries of the header that are equal for all traces
 */

const OUTPUT = 'target';

/**
 * Return the header and the arrays of a layer.
 * @param {Trace} trace
 * @param {string} site
 * @param {number} layer
 * @param {Constants} constants
 */
export function ribbonPayload(trace, site, layer, constants) {
  const map = trace.maps[site];
  const query = trace.fields[map.query];
  const names = [...new Set([map.query, map.memory])];
  const { arrays, keep } = attentionArrays(map, layer, constants);
  const { masses, sinks } = addReadings(arrays, map, layer, query, constants);
  names.forEach((name, number) => {
    for (const [part, values] of Object.entries(textArrays(trace.fields[name]))) {
      arrays[`f${number}.${part}`] = values;
    }
  });
  const { grid } = map;
  const items = firstItem(rowsByHead(map, layer), grid, query);
  const header = {
    heads: map.heads,
    grid: [grid.height, grid.width, grid.maxHeight, grid.maxWidth],
    lit: { many: constants.top, listed: constants.top, overlap: constants.overlap, items },
    written: map.query === OUTPUT,
    keep,
    fields: names.map((name) => fieldHeader(trace, name, constants.names[name])),
    query: names.indexOf(map.query),
    memory: names.indexOf(map.memory),
    masses,
    sinks,
    ...constants.header,
    caption: captionParts(trace, map, layer),
  };
  return { header, arrays };
}

/**
 * Return the weights of a layer's queries, head by head.
 * @param {AttentionMap} map
 * @param {number} layer
 */
function rowsByHead({ heads, queries, grid, weights }, layer) {
  return Array.from({ length: heads }, (_, head) => Array.from({ length: queries }, (__, query) => {
    const first = ((layer * heads + head) * queries + query) * grid.count;
    return weights.subarray(first, first + grid.count);
  }));
}

/**
 * Return the top areas of queries, the top queries of items and the top items of queries.
 * @param {AttentionMap} map
 * @param {number} layer
 * @param {Constants} constants
 */
function attentionArrays(map, layer, constants) {
  const { heads, queries, grid } = map;
  const isRoomy = heads * queries <= constants.roomy;
  const lists = emptyLists(map, constants, isRoomy);
  const areas = grid.areas();
  for (const rows of rowsByHead(map, layer)) {
    for (const row of rows) {
      lists.area?.add(sentAreas(row, areas, lists.area.kept, constants), row, sum(row));
      const several = row.subarray(grid.items);
      lists.several?.add(sentAreas(row, areas, lists.several.kept, constants, 2), row, sum(several));
    }
    const covered = rows.map((row) => coverageOf(row, grid));
    for (let item = 0; item < grid.items; item += 1) {
      const column = Float32Array.from(covered, (row) => row[item]);
      lists.query.add(largestOf(column, lists.query.kept), column, sum(column));
    }
    for (const row of lists.item ? covered.map(sharesOf) : []) {
      lists.item.add(largestOf(row, lists.item.kept), row, sum(row));
    }
  }
  return listArrays(lists, Math.max(grid.count, queries, grid.items), isRoomy);
}

/**
 * Return the lists that a map gets, each with its number of entries a row.
 * @param {AttentionMap} map
 * @param {Constants} constants
 * @param {boolean} isRoomy
 */
function emptyLists({ heads, queries, grid }, { top, entries, most }, isRoomy) {
  const room = Math.floor(entries / Math.max(heads * queries, 1));
  const kept = isRoomy ? Math.max(top, Math.min(most, room)) : 3;
  /** @type {Record<string, RankedRows>} */
  const lists = { area: new RankedRows(kept <= top ? kept : Math.min(kept, grid.count)) };
  if (grid.maxWidth > 1) {
    const several = isRoomy ? kept : 1;
    lists.several = new RankedRows(several <= top ? several : Math.min(several, grid.count));
  }
  const attending = Math.floor(entries / (heads * grid.width));
  lists.query = new RankedRows(isRoomy ? Math.max(top, Math.min(most, queries, attending)) : 2);
  if (isRoomy) lists.item = new RankedRows(Math.max(top, Math.min(most, grid.width, room)));
  return lists;
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
  const runs = [...single, ...wordsOf(query).filter(([first, end]) => end - first > 1)];
  const places = map.heads * runs.length * map.grid.items;
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
      for (const span of densestSpans(meanOf(shares.slice(first, end)), masses)) {
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
function textArrays(field) {
  const largest = Math.max([...field.raw].length, field.labels.length) + 1;
  return {
    start: narrow(field.anchors.map(([start]) => start), largest),
    end: narrow(field.anchors.map(([, end]) => end), largest),
    word: narrow(wordsOf(field).map(([first]) => first), largest),
  };
}

/**
 * Return the title, the text, the labels that differ from the text they represent, and the items that
 * the model wrote with a probability below one half.
 * @param {Trace} trace
 * @param {string} name
 * @param {string} title
 */
function fieldHeader({ fields, output }, name, title) {
  const { raw, labels: all, anchors } = fields[name];
  const characters = [...raw];
  /** @type {Record<number, string>} */
  const labels = {};
  anchors.forEach(([start, end], item) => {
    if (all[item] !== characters.slice(start, end).join('')) labels[item] = all[item];
  });
  if (name !== OUTPUT) return { title, raw, labels };
  const unsure = output.flatMap(({ probability }, item) => (probability < 0.5 ? [item] : []));
  return { title, raw, labels, unsure };
}

/**
 * Return the caption of a figure. The ribbon writes the heads that are shown between its two parts.
 * @param {Trace} trace
 * @param {AttentionMap} map
 * @param {number} layer
 */
function captionParts({ request }, { site, layers, heads, grid }, layer) {
  const short = request.method === 'greedy' ? 'greedy' : `beam ${request.beam}`;
  const model = `${request.model}, ${request.target === null ? short : 'given text'}`;
  const where = layers > 1 ? `${site}, layer ${layer + 1} of ${layers}` : site;
  const areas = grid.maxWidth === 1 ? 'single items' : `areas up to ${grid.maxWidth} items`;
  const count = request.changes.split(';').filter(Boolean).length;
  const changes = count ? ` · with ${count} change${count > 1 ? 's' : ''}` : '';
  const end = ` · softmax over areas, ${areas}${changes}`;
  return heads > 1 ? [`${model} · ${where}, `, end] : [`${model} · ${where}${end}`, ''];
}
