// The densest area: the smallest span or rectangle that holds a share of a distribution, as in
// areaviz/trace/smallest_areas.py. Shares become whole numbers, so their sums are exact.

import { sum, summedTable } from './map_algebra.js';

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
