// The recurrent attention model, which answers after a few glimpses, as in areaviz/models/ram.py. A
// glimpse has square patches around a place, each twice as wide as the one before (Mnih et al.
// 2014).

import { joined, linear, linearOf, rectify, tanhOf } from './linear.js';
import { summedTable } from './map_algebra.js';
import { roundHalfToEven } from './recording.js';

/** @typedef {import('./canvas.js').Canvas} Canvas */
/** @typedef {import('./digit_reader.js').Reading} Reading */
/** @typedef {import('./weights.js').Weights} Weights */
/** @typedef {{ glimpses: number, digits?: number, side: number, scales: number, width: number }} RamConfig */

/** Glimpse network, recurrent core, locator and classifier. */
export class Ram {
  /**
   * @param {RamConfig} config
   * @param {Weights} weights
   */
  constructor(config, weights) {
    this.config = { digits: 1, ...config };
    const part = (/** @type {string} */ name) => linearOf(weights, name);
    this.what = part('what');
    this.where = part('where');
    this.glimpse = part('glimpse');
    this.core = part('core');
    this.locator = part('locator');
    this.classifier = part('classifier');
  }

  /**
   * Read the digits of a picture. The first place is its middle.
   * @param {Canvas} canvas
   * @returns {Reading}
   */
  read(canvas) {
    const { glimpses, digits, width, side, scales } = this.config;
    const sums = summedTable(canvas.ink, { height: canvas.side, width: canvas.side });
    /** @type {Float32Array[]} */
    let [hidden, place] = [new Float32Array(width), new Float32Array(2)];
    const logits = [], gaze = { site: 'glimpses', corners: /** @type {number[]} */ ([]), seen: /** @type {number[]} */ ([]), scales, patch: side };
    for (let look = 0; look < digits * glimpses; look += 1) {
      /** @type {number[]} */
      const patches = [];
      for (let step = 1; step < 2 ** scales; step *= 2) {
        // Single precision, and halves rounded to even, as in PyTorch.
        const [left, top] = place.map((at) => (
          roundHalfToEven(Math.fround(Math.fround(Math.fround(at + 1) / 2) * canvas.side) - (step * side) / 2)));
        const right = left + step * side, bottom = top + step * side;
        gaze.corners.push(left, top, right, top, right, bottom, left, bottom);
        patches.push(...patchMeans(sums, canvas.side, [left, top], side, step));
      }
      gaze.seen.push(...patches);
      const what = rectify(linear(this.what, Float32Array.from(patches)));
      const glimpse = rectify(linear(this.glimpse, joined(what, rectify(linear(this.where, place)))));
      hidden = rectify(linear(this.core, joined(hidden, glimpse)));
      place = tanhOf(linear(this.locator, hidden));
      logits.push(linear(this.classifier, hidden));
    }
    return { logits, digits, gaze };
  }
}

/**
 * Return the means of squares of `step` x `step` pixels, row by row, from a corner of the patch.
 * Pixels outside of the picture are black.
 * @param {Float64Array} sums
 * @param {number} side of the picture
 * @param {number[]} corner
 * @param {number} size squares per row
 * @param {number} step
 */
function patchMeans(sums, side, [left, top], size, step) {
  const inside = (/** @type {number} */ at) => Math.min(Math.max(at, 0), side);
  const means = new Float32Array(size * size);
  for (let i = 0; i < means.length; i += 1) {
    const x = left + (i % size) * step, y = top + Math.floor(i / size) * step;
    const above = inside(y) * (side + 1), below = inside(y + step) * (side + 1);
    const here = inside(x), next = inside(x + step);
    means[i] = (sums[below + next] - sums[above + next] - (sums[below + here] - sums[above + here])) / step ** 2;
  }
  return means;
}
