// The arrays of a component's message: unsigned integers, as areaviz/interactive/message.py makes
// them.

import { sum } from './map_algebra.js';
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
