// A spatial transformer before a classifier of digits, as in areaviz/models/digits.py. It finds a
// quadrilateral of the picture and transforms it to an upright square (Jaderberg et al. 2015).

import { cellEdges, cellMaxima, channelsFirst, convolutionOf, convolved, halved, rectified } from './pictures.js';
import { linear, linearOf, rectify } from './linear.js';

/** @typedef {import('./pictures.js').Canvas} Canvas */
/** @typedef {import('./pictures.js').Features} Features */
/** @typedef {import('./digit_reader.js').Reading} Reading */
/** @typedef {import('./linear.js').Linear} Linear */
/** @typedef {import('./weights.js').Weights} Weights */

const PLACE_CELLS = 5, READ_CELLS = 3;
const SQUARE = [[-1, -1], [1, -1], [1, 1], [-1, 1]];

/** The network, with a localiser that finds the quadrilateral, and a classifier that reads it. */
export class Stn {
  /**
   * @param {{ side: number }} config
   * @param {Weights} weights
   */
  constructor({ side }, weights) {
    this.side = side;
    const part = (/** @type {string} */ name, /** @type {number[]} */ layers, /** @type {number[]} */ lines) => ({
      layers: layers.map((place) => convolutionOf(weights, `${name}.${place}`)),
      lines: lines.map((place) => linearOf(weights, `${name}.${place}`)),
    });
    this.localiser = part('localiser', [1, 4], [8, 10]);
    this.reader = part('reader', [0, 3, 6], [10, 12]);
  }

  /**
   * Read the digit of a picture in one look.
   * @param {Canvas} canvas
   * @returns {Reading}
   */
  read({ side, ink }) {
    let x = { side, data: ink };
    for (const layer of this.localiser.layers) x = rectified(convolved(halved(x), layer, 1, 0));
    const theta = classified(x, PLACE_CELLS, this.localiser.lines);
    const seen = transformed({ side, data: ink }, theta, this.side);
    const [first, ...others] = this.reader.layers;
    x = rectified(convolved({ side: this.side, data: seen }, first, 1));
    for (const layer of others) x = rectified(convolved(halved(x), layer, 1));
    const corners = SQUARE.flatMap(([across, down]) => (
      mapped(theta, across, down).map((at) => Math.fround(((at + 1) / 2) * side))));
    const logits = [classified(x, READ_CELLS, this.reader.lines)];
    return { logits, digits: 1, gaze: { site: 'transformer', corners, seen, scales: 1, patch: this.side } };
  }
}

/**
 * Return the output of two linear layers over the largest features of a grid of cells.
 * @param {Features} x
 * @param {number} cells
 * @param {Linear[]} lines
 */
function classified(x, cells, [inner, outer]) {
  const pooled = channelsFirst(cellMaxima(x, cellEdges(x.side, cells)));
  return linear(outer, rectify(linear(inner, pooled)));
}

/**
 * Return the place in the input of a place in the output. Both are from -1 to 1.
 * @param {Float32Array} theta
 * @param {number} x
 * @param {number} y
 */
function mapped(theta, x, y) {
  return [theta[0] * x + theta[1] * y + theta[2], theta[3] * x + theta[4] * y + theta[5]];
}

/**
 * Sample the quadrilateral of theta by bilinear interpolation. Pixels outside of the picture are 0.
 * @param {Features} picture
 * @param {Float32Array} theta
 * @param {number} size
 */
function transformed({ side, data }, theta, size) {
  const place = (/** @type {number} */ i) => (2 * i + 1) / size - 1;
  const pixel = (/** @type {number} */ x, /** @type {number} */ y) => (
    x < 0 || y < 0 || x >= side || y >= side ? 0 : data[y * side + x]);
  return Float32Array.from({ length: size * size }, (_, i) => {
    const [across, down] = mapped(theta, place(i % size), place(Math.floor(i / size)))
      .map((at) => ((at + 1) * side - 1) / 2);
    const x = Math.floor(across), y = Math.floor(down), right = across - x, below = down - y;
    return (1 - below) * ((1 - right) * pixel(x, y) + right * pixel(x + 1, y))
      + below * ((1 - right) * pixel(x, y + 1) + right * pixel(x + 1, y + 1));
  });
}
