// The terms of an area's logit, which explain its weight, as in areaviz/trace/derived.py and
// areaviz/views/why.py. The weights of a query are the softmax of its logits.

import { largestOf } from './beam.js';
import { topAreas, coverageOf, sentAreas, sharesOf, sum } from './map_algebra.js';
import {
  rowsByHead, RankedRows, narrow, quantised, sharedHeader, textArrays, listArrays, OUTPUT,
} from './payload_parts.js';

/** @typedef {import('./attention.js').Area} Area */
/** @typedef {import('./attention.js').AreaGrid} AreaGrid */
/** @typedef {import('./recording.js').AttentionMap} AttentionMap */
/** @typedef {{ site: string, layer: number, head: number, query: number }} Place one query of a head */
/**
 * @typedef {object} LogitTerms the terms of the logits of one query of a head
 * @property {AreaGrid} grid the areas that the query may attend to
 * @property {Float32Array | null} factors factors on the weights, by changes of the run
 * @property {Float64Array} item q . k of every item, with the scale of the softmax
 * @property {Float64Array | null} start the term of every item as the first of an area
 * @property {Float64Array | null} end the term of every item as the last of an area
 * @property {((height: number, width: number) => number) | null} shape the term of an area's shape
 */
/**
 * @typedef {object} WhyQuestion
 * @property {string} site
 * @property {number} layer
 * @property {number | null} head null for the head that puts most weight on one area
 * @property {number} query
 * @property {number} smallest the fewest items of the area to explain
 * @property {number | null} area the area to explain; null for the heaviest
 * @property {number | null} beside the area to compare it with; null for the heaviest other area
 */

const CHOICES = 8, AROUND = 3, MOST_ITEMS = 40;

/** A recording of the logit terms of one query, in place of weights. */
export class Noting {
  /** @param {Place} place */
  constructor(place) {
    this.place = place;
    /** @type {LogitTerms | null} */
    this.found = null;
  }

  /**
   * Return the record for a layer's terms. Other layers have no record.
   * @param {string} site
   * @param {number} layer
   * @returns {any} a LayerRecord that stores no weights
   */
  layer(site, layer) {
    if (site !== this.place.site || layer !== this.place.layer) return null;
    const note = (/** @type {number} */ head, /** @type {number} */ query, /** @type {() => LogitTerms} */ terms) => {
      if (head === this.place.head && query === this.place.query) this.found = terms();
    };
    return { note };
  }
}

/**
 * Return the terms of an area's logit by name. Their sum is the logit.
 * @param {LogitTerms} terms
 * @param {Area} area
 */
function partsOf({ grid, factors, item, start, end, shape }, area) {
  const inside = itemsOf(area, grid), first = inside[0], last = inside[inside.length - 1];
  /** @type {Record<string, number>} */
  const parts = { mean: inside.reduce((total, one) => total + item[one], 0) / inside.length };
  if (start) parts.start = start[first];
  if (end) parts.end = end[last];
  if (shape) parts.shape = shape(area.height, area.width);
  const factor = factors ? factors[grid.index(area)] : 1;
  if (factor !== 1) parts.changed = Math.log(factor);
  return parts;
}

/**
 * Return the items of an area in their order.
 * @param {Area} area
 * @param {AreaGrid} grid
 */
function itemsOf({ top, left, height, width }, grid) {
  return Array.from({ length: height * width }, (_, i) => (
    (top + Math.floor(i / width)) * grid.width + left + (i % width)));
}

/**
 * Return the areas that can be compared, the terms of two of them, and q . k of the items in and
 * next to them.
 * @param {import('./writing.js').Trace} trace
 * @param {WhyQuestion} asked
 */
export function whyPayload({ maps, terms }, asked) {
  const { grid } = maps[asked.site], areas = grid.areas();
  const rows = rowsByHead(maps[asked.site], asked.layer).map((queries) => queries[asked.query]);
  const head = asked.head ?? heaviestHead(rows), row = rows[head];
  const offered = topAreas(row, areas, CHOICES, 1, asked.smallest);
  const area = offered.find((one) => one === asked.area) ?? offered[0];
  const others = topAreas(row, areas, CHOICES, 1).filter((one) => one !== area);
  const beside = others.find((one) => one === asked.beside) ?? others[0];
  const found = area === undefined ? null : terms?.({ ...asked, head });
  if (!found) return null;
  const named = (/** @type {number} */ one) => ({ number: one, weight: row[one], ...areas[one] });
  const compared = [area, beside].filter((one) => one !== undefined);
  return {
    head,
    areas: offered.map(named),
    others: others.map(named),
    asked: compared.map((one) => ({ ...named(one), items: itemsOf(areas[one], grid), parts: partsOf(found, areas[one]) })),
    items: itemsAround(compared.map((one) => itemsOf(areas[one], grid)), found.grid)
      .map((one) => ({ item: one, score: found.item[one] })),
    columns: grid.height > 1 ? grid.width : 0,
  };
}

/** @param {Float32Array[]} rows the weights of one query, head by head */
function heaviestHead(rows) {
  const most = rows.map((row) => row.reduce((one, other) => Math.max(one, other), 0));
  return most.indexOf(Math.max(...most));
}

/**
 * Return the items of areas and, in a sequence, those next to the first area.
 * @param {number[][]} areas
 * @param {AreaGrid} grid
 */
function itemsAround(areas, grid) {
  const items = new Set(areas.flat()), [own] = areas;
  if (grid.height === 1) {
    const end = Math.min(grid.items, own[own.length - 1] + 1 + AROUND);
    for (let item = Math.max(0, own[0] - AROUND); item < end; item += 1) items.add(item);
  }
  return [...items].sort((one, other) => one - other).slice(0, MOST_ITEMS);
}

// The message of one site and layer of a trace for the image grid, without the picture, as
// `make_grid_payload` in areaviz/views/grid/grid.py makes it. Shapes: H heads, Q queries, N cells.


/** @typedef {import('./payload_parts.js').Integers} Integers */
/** @typedef {import('./payload_parts.js').Constants} Constants */
/** @typedef {import('./writing.js').Trace} Trace */
/**
 * @typedef {object} GridConstants the numbers that Python writes into a page for the grid
 * @property {number} kept areas of a query that are sent
 * @property {[number, number][]} wanted numbers of top areas, each with its largest overlap
 * @property {number} coarse largest side of a picture whose pixels are shown as squares
 * @property {object} lit settings of the highlighted areas, see areaviz/views/grid/grid.py
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
 * @param {import('./attention.js').Area[]} areas
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

// The message of one site and layer of a trace for the ribbon, as `make_ribbon_payload` in
// areaviz/views/ribbon/ribbon.py makes it. Shapes: H heads, Q queries, N items, K kept entries.



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
