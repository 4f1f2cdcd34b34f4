// The algebra of areas on plain arrays of weights, as in areaviz/trace/areas.py: coverage, shares
// and top areas.

import { largestOf } from './beam.js';

/** @typedef {import('./attention.js').AreaGrid} AreaGrid */
/** @typedef {import('./attention.js').Area} Area */

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
 * Return the sums of all rectangles that begin at the top left, with a row and a column of zeros
 * before them. Numbers are added first down and then across, as in areaviz/attention/hard.py.
 * @param {ArrayLike<number>} values row by row
 * @param {{ height: number, width: number }} shape
 */
export function summedTable(values, { height, width }) {
  const stride = width + 1, sums = new Float64Array((height + 1) * stride);
  for (let i = 0; i < height * width; i += 1) {
    const at = stride + i + Math.floor(i / width) + 1;
    sums[at] = sums[at - stride] + values[i];
  }
  for (let at = stride; at < sums.length; at += 1) if (at % stride) sums[at] += sums[at - 1];
  return sums;
}

/**
 * @typedef {object} Line numbers along one axis of an array
 * @property {Float32Array} data
 * @property {number} first the place of the first number
 * @property {number} step from one number to the next
 */

/**
 * Return the coverage [N]: for each item, the sum of the weights of all areas that contain it.
 * @param {Float32Array} row the weights of one query
 * @param {AreaGrid} grid
 */
export function coverageOf(row, grid) {
  const { width, height, items } = grid;
  /** @type {Float32Array[]} */
  const strips = [];
  for (let tall = 1; tall <= grid.maxHeight; tall += 1) {
    const strip = new Float32Array(items);
    for (let top = 0; top < height - tall + 1; top += 1) {
      const starts = Array.from({ length: grid.maxWidth }, (_, wide) => {
        const { first, columns } = grid.slab(tall, wide + 1);
        return { data: row, first: first + top * columns, step: 1 };
      });
      spreadRuns(starts, width, { data: strip, first: top * width, step: 1 });
    }
    strips.push(strip);
  }
  if (height === 1) return strips[0];
  const covered = new Float32Array(items);
  for (let column = 0; column < width; column += 1) {
    const starts = strips.map((data) => ({ data, first: column, step: width }));
    spreadRuns(starts, height, { data: covered, first: column, step: width });
  }
  return covered;
}

/**
 * Add to every position the weights of the runs that contain it. The sums are in single precision,
 * as in Python. Nothing is subtracted, so no digits are lost.
 * @param {Line[]} starts weights by the first position of a run, for runs of 1, 2, ... positions
 * @param {number} length the number of positions
 * @param {Line} to
 */
function spreadRuns(starts, length, to) {
  const atLeast = new Float32Array(length);
  // `atLeast` has the runs of at least this extent, which are those that contain `extent - 1`,
  // counted from their start.
  for (let extent = starts.length; extent > 0; extent -= 1) {
    const { data, first, step } = starts[extent - 1], places = length - extent + 1;
    for (let i = 0; i < places; i += 1) atLeast[i] += data[first + i * step];
    for (let i = 0; i < places; i += 1) to.data[to.first + (i + extent - 1) * to.step] += atLeast[i];
  }
}

/**
 * Return coverage divided by its sum, or zeros if the sum is 0.
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
  const left = row.map((weight, area) => (sizeOf(areas[area]) < smallest ? -1 : weight));
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

/** @param {Area} area */
function sizeOf({ height, width }) {
  return height * width;
}

/**
 * Return the intersection over union of two areas.
 * @param {Area} one
 * @param {Area} other
 */
function sharedPart(one, other) {
  const shared = sharedRun(one.left, one.width, other.left, other.width)
    * sharedRun(one.top, one.height, other.top, other.height);
  return shared / (sizeOf(one) + sizeOf(other) - shared);
}

/**
 * Return the number of positions that two runs have in common.
 * @param {number} first
 * @param {number} extent
 * @param {number} other
 * @param {number} otherExtent
 */
function sharedRun(first, extent, other, otherExtent) {
  return Math.max(Math.min(first + extent, other + otherExtent) - Math.max(first, other), 0);
}

/**
 * Return `kept` areas of a query: its top areas for each pair of a number and a largest overlap,
 * and then its heaviest other areas.
 * @param {Float32Array} row
 * @param {Area[]} areas
 * @param {number} kept
 * @param {[count: number, overlap: number][]} wanted
 * @param {number} smallest areas with fewer items are left out
 */
export function sentAreas(row, areas, kept, wanted, smallest = 1) {
  const tops = wanted.flatMap(([count, overlap]) => (
    topAreas(row, areas, Math.min(count, kept), overlap, smallest)));
  if (wanted.length === 1 && kept <= wanted[0][0]) return tops;
  const counted = row.map((weight, area) => (sizeOf(areas[area]) < smallest ? 0 : weight));
  const heaviest = largestOf(counted, kept).filter((area) => counted[area] > 0);
  return [...new Set([...tops, ...heaviest])].slice(0, kept);
}

// The densest area: the smallest span or rectangle that holds a share of a distribution, as in
// areaviz/trace/areas.py. Shares become whole numbers, so their sums are exact.


/** @typedef {{ height: number, width: number }} Memory rows and columns */
/** @typedef {{ first: number, last: number, share: number }} Densest first and last item, share */
/** @typedef {{ top: number, left: number, height: number, width: number, held: number }} Found */

const UNIT = 2 ** 40, ROUNDING = 1e-6;

/**
 * Return the smallest area that holds each of `masses`.
 * @param {Float32Array} shares of the items, row by row
 * @param {Memory} memory
 * @param {number[]} masses in per cent
 * @returns {Densest[]}
 */
export function densestAreas(shares, memory, masses) {
  const total = sum(shares);
  // Python returns these ends for a row without attention.
  if (!total) return masses.map(() => ({ first: 0, last: -memory.width - 1, share: 0 }));
  const units = Float64Array.from(shares, (share) => Math.round((share / total) * UNIT));
  const sums = summedTable(units, memory), whole = sums[sums.length - 1];
  return masses.map((mass) => {
    const { top, left, height, width, held } = smallest(sums, (mass / 100) * whole - ROUNDING * whole, memory);
    const first = top * memory.width + left;
    return { first, last: first + (height - 1) * memory.width + width - 1, share: held / whole };
  });
}

/**
 * Return the smallest area that holds at least `need`, and the heaviest one of equally small areas.
 * If several are left, return that with the smallest height, then top, then left.
 * @param {Float64Array} sums
 * @param {number} need
 * @param {Memory} memory
 */
function smallest(sums, need, memory) {
  /** @type {Found} */
  let best = { top: 0, left: 0, ...memory, held: -1 };
  for (let height = 1; height <= memory.height; height += 1) {
    const found = narrowest(sums, need, height, memory);
    if (!found) continue;
    const size = height * found.width, bestSize = best.height * best.width;
    if (best.held < 0 || size < bestSize || (size === bestSize && found.held > best.held)) best = found;
  }
  return best;
}

/**
 * Return the narrowest area of a height that holds at least `need`, or null if there is none.
 * @param {Float64Array} sums
 * @param {number} need
 * @param {number} height
 * @param {Memory} memory
 * @returns {Found | null}
 */
function narrowest(sums, need, height, memory) {
  const stride = memory.width + 1;
  for (let width = 1; width <= memory.width; width += 1) {
    /** @type {Found} */
    let best = { top: 0, left: 0, height, width, held: -1 };
    for (let top = 0; top + height <= memory.height; top += 1) {
      const above = top * stride, below = (top + height) * stride;
      for (let left = 0; left + width <= memory.width; left += 1) {
        const right = left + width;
        const held = sums[below + right] - sums[above + right] - sums[below + left] + sums[above + left];
        if (held > best.held) best = { top, left, height, width, held };
      }
    }
    if (best.held >= need) return best;
  }
  return null;
}
