// The terms of an area's logit, which explain its weight, as in areaviz/trace/logits.py and
// areaviz/views/weight_explanation_parts.py. The weights of a query are the softmax of its logits.

import { topAreas } from './map_algebra.js';
import { rowsByHead } from './payload_parts.js';

/** @typedef {import('./area_grid.js').Area} Area */
/** @typedef {import('./area_grid.js').AreaGrid} AreaGrid */
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
