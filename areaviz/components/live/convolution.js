// Convolutions and pooling over squares of features [side, side, channels].

import { linear, rectify } from './linear.js';

/** @typedef {import('./linear.js').Linear} Linear */
/** @typedef {import('./weights.js').Weights} Weights */
/** @typedef {{ side: number, data: Float32Array }} Features a square of features */
/** @typedef {Linear & { taps: number }} Convolution a linear layer over patches of taps x taps cells */

const VARIANCE_EPSILON = 1e-5;

/**
 * Return a convolution, with the batch normalisation after it if there is one.
 * @param {Weights} weights
 * @param {string} name
 * @param {string | null} norm
 * @returns {Convolution}
 */
export function convolutionOf(weights, name, norm = null) {
  const { shape: [out, inside, taps], data } = weights.get(`${name}.weight`);
  const { factors, bias } = norm ? normFactors(weights, norm) : { factors: null, bias: weights.data(`${name}.bias`) };
  const cells = taps * taps, width = cells * inside;
  const weight = new Float32Array(out * width);
  for (let o = 0; o < out; o += 1) {
    const factor = factors ? factors[o] : 1;
    for (let i = 0; i < inside; i += 1) {
      for (let tap = 0; tap < cells; tap += 1) {
        weight[o * width + tap * inside + i] = data[(o * inside + i) * cells + tap] * factor;
      }
    }
  }
  return { weight, bias, width, out, taps };
}

/**
 * Return the factor and the addend of a batch normalisation for every channel.
 * @param {Weights} weights
 * @param {string} name
 */
function normFactors(weights, name) {
  const [scale, shift, mean, variance] = ['weight', 'bias', 'running_mean', 'running_var']
    .map((part) => weights.data(`${name}.${part}`));
  const factors = Float64Array.from(scale, (value, i) => value / Math.sqrt(variance[i] + VARIANCE_EPSILON));
  return { factors, bias: shift.map((value, i) => value - mean[i] * factors[i]) };
}

/**
 * Return the features after a convolution.
 * @param {Features} x
 * @param {Convolution} layer
 * @param {number} stride
 * @param {number} padding zeros around the square; the default keeps the side with a stride of 1
 * @returns {Features}
 */
export function convolved({ side, data }, layer, stride, padding = (layer.taps - 1) / 2) {
  const channels = data.length / (side * side), { taps, width, out } = layer;
  const after = Math.floor((side + 2 * padding - taps) / stride) + 1;
  const found = new Float32Array(after * after * out);
  for (let row = 0; row < after; row += 1) {
    const patches = new Float32Array(after * width);
    for (let column = 0; column < after; column += 1) {
      for (let tap = 0; tap < taps * taps; tap += 1) {
        const y = row * stride + Math.floor(tap / taps) - padding;
        const x = column * stride + (tap % taps) - padding;
        if (y < 0 || x < 0 || y >= side || x >= side) continue;
        const from = (y * side + x) * channels;
        patches.set(data.subarray(from, from + channels), column * width + tap * channels);
      }
    }
    found.set(linear(layer, patches), row * after * out);
  }
  return { side: after, data: found };
}

/**
 * Return the first and the end pixel of every cell, as PyTorch's adaptive pooling divides a side.
 * Cells overlap if the numbers do not divide.
 * @param {number} side
 * @param {number} cells
 * @returns {[number, number][]}
 */
export function cellEdges(side, cells) {
  return Array.from({ length: cells }, (_, cell) => (
    [Math.floor((cell * side) / cells), Math.ceil(((cell + 1) * side) / cells)]));
}

/**
 * Return one number for every channel of every cell of a grid. Pixels beyond the last cell are left
 * out.
 * @param {Features} x
 * @param {[number, number][]} edges
 * @param {number} start
 * @param {(before: number, value: number, count: number) => number} combine joins the next of
 *   `count` pixels
 * @returns {Features}
 */
export function pooled({ side, data }, edges, start, combine) {
  const channels = data.length / (side * side);
  const found = new Float32Array(edges.length ** 2 * channels).fill(start);
  edges.forEach(([top, bottom], row) => edges.forEach(([left, right], column) => {
    const to = (row * edges.length + column) * channels, count = (bottom - top) * (right - left);
    for (let y = top; y < bottom; y += 1) {
      for (let from = (y * side + left) * channels, i = 0; i < (right - left) * channels; i += 1) {
        const at = to + (i % channels);
        found[at] = combine(found[at], data[from + i], count);
      }
    }
  }));
  return { side: edges.length, data: found };
}

/**
 * Return the largest features of the cells of a grid.
 * @param {Features} x
 * @param {[number, number][]} edges
 */
export function cellMaxima(x, edges) {
  return pooled(x, edges, -Infinity, (before, value) => Math.max(before, value));
}

/**
 * Return the largest features of squares of two by two pixels.
 * @param {Features} x
 */
export function halved(x) {
  return cellMaxima(x, Array.from({ length: Math.floor(x.side / 2) }, (_, cell) => [2 * cell, 2 * cell + 2]));
}

/**
 * Return features with all pixels of a channel next to each other, in PyTorch's order.
 * @param {Features} x
 */
export function channelsFirst({ side, data }) {
  const cells = side * side, channels = data.length / cells;
  return data.map((_, i) => data[(i % cells) * channels + Math.floor(i / cells)]);
}

/**
 * @param {Features} x
 * @returns {Features}
 */
export function rectified(x) {
  rectify(x.data);
  return x;
}
