// The message of one site and layer of a trace for the ribbon, as `make_ribbon_payload` in
// areaviz/interactive/ribbon.py makes it. Shapes: H heads, Q queries, N items, K kept entries.

import { largestOf } from './beam.js';
import { coverageOf, sentAreas, sharesOf, sum } from './map_algebra.js';
import { RankedRows, listArrays } from './payload_arrays.js';
import { OUTPUT, rowsByHead, sharedHeader, textArrays } from './payload_parts.js';

/** @typedef {import('./recording.js').AttentionMap} AttentionMap */
/** @typedef {import('./writing.js').Trace} Trace */
/** @typedef {import('./payload_parts.js').Constants} Constants */

/**
 * Return the header and the arrays of a layer.
 * @param {Trace} trace
 * @param {string} site
 * @param {number} layer
 * @param {Constants} constants
 */
export function ribbonPayload(trace, site, layer, constants) {
  const map = trace.maps[site];
  const names = [...new Set([map.query, map.memory])];
  const { arrays, keep } = attentionArrays(map, layer, constants);
  names.forEach((name, number) => {
    for (const [part, values] of Object.entries(textArrays(trace.fields[name]))) {
      arrays[`f${number}.${part}`] = values;
    }
  });
  const lit = { many: constants.top, listed: constants.top, overlap: constants.overlap };
  const header = {
    ...sharedHeader(trace, map, layer, arrays, { ...constants, lit }),
    keep,
    fields: names.map((name) => fieldHeader(trace, name, constants.names[name])),
    query: names.indexOf(map.query),
    memory: names.indexOf(map.memory),
  };
  return { header, arrays };
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
  /** @type {[number, number][]} */
  const wanted = [[constants.top, constants.overlap]];
  for (const rows of rowsByHead(map, layer)) {
    for (const row of rows) {
      lists.area?.add(sentAreas(row, areas, lists.area.kept, wanted), row, sum(row));
      const several = row.subarray(grid.items);
      lists.several?.add(sentAreas(row, areas, lists.several.kept, wanted, 2), row, sum(several));
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
 * Return the empty lists for a map, each with its number of entries per row.
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
 * Return the title, the text, the labels that differ from the text they represent, and the items
 * that the model wrote with a probability below one half.
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
