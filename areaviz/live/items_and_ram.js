// Soft or hard attention to the cells of a picture, as in areaviz/models/digits.py. A
// recurrent state scores every cell at every look. Soft attention reads the weighted sum of cells,
// and hard attention reads the heaviest cell.

import { addTo, linear, linearOf, rowsOf, tanhOf, joined, rectify } from './linear.js';
import { largestOf } from './beam.js';
import { summedTable } from './map_algebra.js';
import { addValues, softmax } from './attention.js';
import { roundHalfToEven } from './recording.js';
import { convolutionOf, convolved, rectified } from './pictures.js';
import { cellOf } from './recurrent.js';

/** @typedef {import('./pictures.js').Canvas} Canvas */
/** @typedef {import('./digit_reader.js').Reading} Reading */
/** @typedef {import('./recurrent.js').State} State */
/** @typedef {import('./weights.js').Weights} Weights */

const STRIDES = [2, 2, 1];

/** Convolutions, a recurrent state, additive scores and a classifier. */
export class Items {
  /**
   * @param {{ looks: number, hard: boolean }} config
   * @param {Weights} weights
   */
  constructor({ looks, hard }, weights) {
    this.looks = looks;
    this.hard = hard;
    this.features = STRIDES.map((_, number) => convolutionOf(weights, `features.${2 * number}`));
    this.place = weights.data('place');
    const part = (/** @type {string} */ name) => linearOf(weights, name);
    this.key = part('key');
    this.query = part('query');
    this.score = part('score');
    this.core = cellOf(weights, 'core', null, 'lstm');
    this.classifier = part('classifier');
  }

  /**
   * Read the digit of a picture.
   * @param {Canvas} canvas
   * @returns {Reading}
   */
  read({ side, ink }) {
    let x = { side, data: ink };
    this.features.forEach((layer, number) => { x = rectified(convolved(x, layer, STRIDES[number])); });
    const cells = rowsOf(addTo(x.data, this.place), this.key.width), keys = linear(this.key, x.data);
    /** @type {State} */
    let state = [new Float32Array(this.core.width), new Float32Array(this.core.width)];
    const logits = [], chosen = [], weights = new Float32Array(this.looks * cells.length);
    for (let look = 0; look < this.looks; look += 1) {
      const query = linear(this.query, state[0]);
      const scores = linear(this.score, tanhOf(keys.map((key, i) => key + query[i % query.length])));
      const shares = softmax(Float64Array.from(scores));
      weights.set(shares, look * cells.length);
      const [heaviest] = largestOf(shares, 1);
      chosen.push(heaviest);
      const seen = this.hard ? cells[heaviest] : new Float32Array(this.key.width);
      if (!this.hard) addValues(shares, cells, seen, 0, seen.length, 1);
      state = this.core.next(linear(this.core.input, seen), linear(this.core.hidden, state[0]), state);
      logits.push(linear(this.classifier, state[0]));
    }
    return { logits, digits: 1, weights, ...(this.hard ? { chosen } : {}) };
  }
}

// The recurrent attention model, which answers after a few glimpses, as in areaviz/models/digits.py.
// A glimpse has square patches around a place, each twice as wide as the one before (Mnih et al.
// 2014).


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
