// Soft or hard attention to the cells of a picture, as in areaviz/models/item_attention.py. A
// recurrent state scores every cell at every look. Soft attention reads the weighted sum of cells,
// and hard attention reads the heaviest cell.

import { addValues, softmax } from './area_weights.js';
import { largestOf } from './beam.js';
import { convolutionOf, convolved, rectified } from './convolution.js';
import { addTo, linear, linearOf, rowsOf, tanhOf } from './linear.js';
import { cellOf } from './recurrent.js';

/** @typedef {import('./canvas.js').Canvas} Canvas */
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
