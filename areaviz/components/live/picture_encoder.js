// The small picture encoder, as `PictureEncoder` in areaviz/models/encoders.py. Pixels and features
// are [height, width, channels]. Batch normalisation is included in the weights of convolutions.

import { cellEdges, convolutionOf, convolved, pooled, rectified } from './convolution.js';
import { addTo } from './linear.js';

/** @typedef {import('./weights.js').Weights} Weights */
/** @typedef {import('./convolution.js').Convolution} Convolution */
/** @typedef {import('./convolution.js').Features} Features */
/** @typedef {{ side: number, channels: number, context?: boolean, kind?: string }} EncoderConfig */

const MEAN = [0.45, 0.44, 0.40], DEVIATION = [0.27, 0.27, 0.28];

/** The encoder, from pixels to a grid of features. */
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
      convolutionOf(weights, `pictures.${name}`, `pictures.${norm}`));
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

/** @param {Uint8Array} pixels */
function normalisedPixels(pixels) {
  return Float32Array.from(pixels, (value, i) => (value / 255 - MEAN[i % 3]) / DEVIATION[i % 3]);
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
 * Return features with twice the side, by bilinear interpolation between the centres of cells.
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
 * Return the two cells that a place of the doubled side is interpolated from, with their weights.
 * @param {number} place
 * @param {number} side
 * @returns {[number, number][]}
 */
function neighbours(place, side) {
  const at = Math.max((place + 0.5) / 2 - 0.5, 0), first = Math.floor(at);
  return [[first, 1 - (at - first)], [Math.min(first + 1, side - 1), at - first]];
}

/**
 * Return the mean features of the cells of a grid [M, C].
 * @param {Features} x
 * @param {number} grid
 */
function cellMeans(x, grid) {
  return pooled(x, cellEdges(x.side, grid), 0, (before, value, count) => before + value / count).data;
}
