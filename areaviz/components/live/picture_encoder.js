// The small encoder of pictures, as `PictureEncoder` in areaviz/models/encoders.py. Pixels and features
// are [height, width, channels]. Batch normalisation is folded into the convolutions.

import { addTo, linear, rectify } from './linear.js';

/** @typedef {import('./linear.js').Linear} Linear */
/** @typedef {import('./weights.js').Weights} Weights */
/** @typedef {{ side: number, data: Float32Array }} Features a square of features */
/** @typedef {Linear & { taps: number }} Convolution a linear layer over patches of taps x taps cells */
/** @typedef {{ side: number, channels: number, context?: boolean, kind?: string }} EncoderConfig */

const MEAN = [0.45, 0.44, 0.40], DEVIATION = [0.27, 0.27, 0.28];
const VARIANCE_EPSILON = 1e-5;

/** From pixels to a grid of features. */
export class PictureEncoder {
  /**
   * @param {EncoderConfig} config
   * @param {number} grid the side of the grid
   * @param {Weights} weights
   */
  constructor({ side, context = true }, grid, weights) {
    this.side = side;
    this.grid = grid;
    const part = (/** @type {string} */ name, /** @type {string} */ norm) => (
      folded(weights, `pictures.${name}`, `pictures.${norm}`));
    const block = (/** @type {string} */ name) => [
      part(`${name}.layers.0`, `${name}.layers.1`), part(`${name}.layers.3`, `${name}.layers.4`)];
    this.first = [part('fine.0', 'fine.1'), part('fine.3', 'fine.4')];
    this.blocks = [block('fine.6'), block('fine.10')];
    this.between = part('fine.7', 'fine.8');
    this.lateral = part('lateral.0', 'lateral.1');
    this.coarse = context ? { down: part('coarse.0', 'coarse.1'), block: block('coarse.3') } : null;
  }

  /**
   * Return the features of the cells [M, C], row by row.
   * @param {Uint8Array} pixels [side, side, 3]
   */
  encode(pixels) {
    /** @type {Features} */
    let x = { side: this.side, data: normalisedPixels(pixels) };
    for (const layer of this.first) x = rectified(convolved(x, layer, 2));
    x = rectified(convolved(residual(x, this.blocks[0]), this.between, 2));
    const fine = residual(x, this.blocks[1]);
    const whole = convolved(fine, this.lateral, 1);
    if (!this.coarse) return cellMeans(rectified(whole), this.grid);
    const coarse = residual(rectified(convolved(fine, this.coarse.down, 2)), this.coarse.block);
    if (this.grid <= coarse.side) return cellMeans(coarse, this.grid);
    addTo(whole.data, doubled(coarse));
    return cellMeans(rectified(whole), this.grid);
  }
}

/**
 * Return a convolution with the batch normalisation after it.
 * @param {Weights} weights
 * @param {string} name
 * @param {string} norm
 * @returns {Convolution}
 */
function folded(weights, name, norm) {
  const { shape: [out, inside, taps], data } = weights.get(`${name}.weight`);
  const [scale, shift, mean, variance] = ['weight', 'bias', 'running_mean', 'running_var']
    .map((part) => weights.data(`${norm}.${part}`));
  const width = taps * taps * inside;
  const weight = new Float32Array(out * width), bias = new Float32Array(out);
  for (let o = 0; o < out; o += 1) {
    const factor = scale[o] / Math.sqrt(variance[o] + VARIANCE_EPSILON);
    bias[o] = shift[o] - mean[o] * factor;
    for (let i = 0; i < inside; i += 1) {
      for (let tap = 0; tap < taps * taps; tap += 1) {
        weight[o * width + tap * inside + i] = data[(o * inside + i) * taps * taps + tap] * factor;
      }
    }
  }
  return { weight, bias, width, out, taps };
}

/** @param {Uint8Array} pixels */
function normalisedPixels(pixels) {
  return Float32Array.from(pixels, (value, i) => (value / 255 - MEAN[i % 3]) / DEVIATION[i % 3]);
}

/**
 * Return the features after a convolution whose padding keeps the side.
 * @param {Features} x
 * @param {Convolution} layer
 * @param {number} stride
 * @returns {Features}
 */
function convolved({ side, data }, layer, stride) {
  const channels = data.length / (side * side), padding = (layer.taps - 1) / 2;
  const after = Math.ceil(side / stride);
  const found = new Float32Array(after * after * layer.out);
  for (let row = 0; row < after; row += 1) {
    const patches = new Float32Array(after * layer.width);
    for (let column = 0; column < after; column += 1) {
      for (let tap = 0; tap < layer.taps * layer.taps; tap += 1) {
        const y = row * stride + Math.floor(tap / layer.taps) - padding;
        const x = column * stride + (tap % layer.taps) - padding;
        if (y < 0 || x < 0 || y >= side || x >= side) continue;
        const from = (y * side + x) * channels;
        patches.set(data.subarray(from, from + channels), column * layer.width + tap * channels);
      }
    }
    found.set(linear(layer, patches), row * after * layer.out);
  }
  return { side: after, data: found };
}

/**
 * @param {Features} x
 * @returns {Features}
 */
function rectified(x) {
  rectify(x.data);
  return x;
}

/**
 * Return features after two convolutions with a residual connection.
 * @param {Features} x
 * @param {Convolution[]} block
 * @returns {Features}
 */
function residual(x, [one, other]) {
  const y = convolved(rectified(convolved(x, one, 1)), other, 1);
  return rectified({ side: x.side, data: addTo(y.data, x.data) });
}

/**
 * Return features at twice the side, bilinear between the centres of cells.
 * @param {Features} x
 */
function doubled({ side, data }) {
  const channels = data.length / (side * side), after = 2 * side;
  const found = new Float32Array(after * after * channels);
  for (let row = 0; row < after; row += 1) {
    const down = neighbours(row, side);
    for (let column = 0; column < after; column += 1) {
      const across = neighbours(column, side);
      for (const [y, tall] of down) {
        for (const [x, wide] of across) {
          const from = (y * side + x) * channels, to = (row * after + column) * channels;
          for (let i = 0; i < channels; i += 1) found[to + i] += tall * wide * data[from + i];
        }
      }
    }
  }
  return found;
}

/**
 * Return the two cells between whose centres a place of the doubled side lies, with their shares.
 * @param {number} place
 * @param {number} side
 * @returns {[number, number][]}
 */
function neighbours(place, side) {
  const at = Math.max((place + 0.5) / 2 - 0.5, 0), first = Math.floor(at);
  return [[first, 1 - (at - first)], [Math.min(first + 1, side - 1), at - first]];
}

/**
 * Return the mean features of the cells of a grid [M, C]. Cells overlap if the sides do not divide.
 * @param {Features} x
 * @param {number} grid
 */
function cellMeans({ side, data }, grid) {
  const channels = data.length / (side * side);
  const found = new Float32Array(grid * grid * channels);
  const edges = Array.from({ length: grid }, (_, cell) => (
    [Math.floor((cell * side) / grid), Math.ceil(((cell + 1) * side) / grid)]));
  edges.forEach(([top, bottom], row) => edges.forEach(([left, right], column) => {
    const to = (row * grid + column) * channels, count = (bottom - top) * (right - left);
    for (let y = top; y < bottom; y += 1) {
      for (let from = (y * side + left) * channels, i = 0; i < (right - left) * channels; i += 1) {
        found[to + (i % channels)] += data[from + i] / count;
      }
    }
  }));
  return found;
}
