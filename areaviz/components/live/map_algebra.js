// The algebra of areas on plain arrays of weights, as in areaviz/trace/weights.py: coverage, shares and
// top areas. Memories have one row.

import { largestOf } from './beam.js';

/** @typedef {import('./area_grid.js').AreaGrid} AreaGrid */
/** @typedef {import('./area_grid.js').Area} Area */

/**
 * Return the sum of numbers.
 * @param {ArrayLike<number>} values
 */
export function sum(values) {
  let total = 0;
  for (let i = 0; i < values.length; i += 1) total += values[i];
  return total;
}

/**
 * Return the weight of all areas that contain each item, [N]. Nothing is subtracted, so the sums, which
 * are in single precision as in Python, lose nothing.
 * @param {Float32Array} row the weights of one query
 * @param {AreaGrid} grid
 */
export function coverageOf(row, grid) {
  const atLeast = new Float32Array(grid.items), spread = new Float32Array(grid.items);
  // `atLeast` holds all areas of this size or more. Exactly these reach their item `size - 1`.
  for (let size = grid.maxWidth; size > 0; size -= 1) {
    const { first, columns } = grid.slab(1, size);
    for (let i = 0; i < columns; i += 1) atLeast[i] += row[first + i];
    for (let i = 0; i < columns; i += 1) spread[i + size - 1] += atLeast[i];
  }
  return spread;
}

/**
 * Return coverage divided by its sum, or zeros if nothing is attended to.
 * @param {Float32Array} covered
 */
export function sharesOf(covered) {
  const total = Math.fround(sum(covered)) || 1;
  return covered.map((value) => value / total);
}

/**
 * Return the top areas of a query, without areas that overlap a higher-ranked one too much.
 * @param {Float32Array} row
 * @param {Area[]} areas the areas of the weights
 * @param {number} count
 * @param {number} overlap largest intersection over union with a higher-ranked area
 * @param {number} smallest areas with fewer items are left out
 */
export function topAreas(row, areas, count, overlap, smallest = 1) {
  const left = row.map((weight, area) => (areas[area].width < smallest ? -1 : weight));
  const found = [];
  while (found.length < count) {
    const best = largestOf(left, 1)[0];
    if (!(left[best] > 0)) break;
    found.push(best);
    areas.forEach((area, number) => {
      if (number === best || sharedPart(areas[best], area) > overlap) left[number] = -1;
    });
  }
  return found;
}

/**
 * Return the intersection over union of two areas of one row.
 * @param {Area} one
 * @param {Area} other
 */
function sharedPart(one, other) {
  const last = Math.min(one.left + one.width, other.left + other.width);
  const shared = Math.max(last - Math.max(one.left, other.left), 0);
  return shared / (one.width + other.width - shared);
}

/**
 * Return a query's top areas and then its heaviest other areas, `kept` in all.
 * @param {Float32Array} row
 * @param {Area[]} areas
 * @param {number} kept
 * @param {{ top: number, overlap: number }} limits
 * @param {number} smallest areas with fewer items are left out
 */
export function sentAreas(row, areas, kept, { top, overlap }, smallest = 1) {
  const first = topAreas(row, areas, Math.min(top, kept), overlap, smallest);
  if (kept <= top) return first;
  const counted = row.map((weight, area) => (areas[area].width < smallest ? 0 : weight));
  const heaviest = largestOf(counted, kept).filter((area) => counted[area] > 0);
  return [...new Set([...first, ...heaviest])].slice(0, kept);
}

const UNIT = 2 ** 40, ROUNDING = 1e-6;

/**
 * Return the smallest span that holds each mass of some shares: first and last item, and its share, as
 * in areaviz/trace/densest.py. Shares become whole numbers, so their sums are exact.
 * @param {Float32Array} shares
 * @param {number[]} masses in per cent
 */
export function densestSpans(shares, masses) {
  const total = sum(shares);
  // Python's ends for a row without attention.
  if (!total) return masses.map(() => ({ first: 0, last: -shares.length - 1, share: 0 }));
  const sums = new Float64Array(shares.length + 1);
  shares.forEach((share, i) => { sums[i + 1] = sums[i] + Math.round((share / total) * UNIT); });
  const whole = sums[shares.length];
  return masses.map((mass) => {
    const { first, size } = narrowest(sums, (mass / 100) * whole - ROUNDING * whole);
    return { first, last: first + size - 1, share: (sums[first + size] - sums[first]) / whole };
  });
}

/**
 * Return the first of the shortest spans that hold at least `need`, with the largest sum.
 * @param {Float64Array} sums running sums of the items
 * @param {number} need
 */
function narrowest(sums, need) {
  for (let size = 1; size < sums.length; size += 1) {
    let best = 0;
    for (let first = 1; first + size < sums.length; first += 1) {
      if (sums[first + size] - sums[first] > sums[best + size] - sums[best]) best = first;
    }
    if (sums[best + size] - sums[best] >= need) return { first: best, size };
  }
  return { first: 0, size: sums.length - 1 };
}
