// Resizing of pictures as PyTorch resizes bytes: bilinear with antialiasing, first across and then
// down, with integer weights. areaviz/models/pictures.py resizes in the same way, so all pixels are
// equal.
import { linear, rectify } from './linear.js';
import { roundHalfToEven } from './recording.js';

/** @typedef {{ width: number, height: number, pixels: Uint8Array }} Picture red, green and blue bytes */
/** @typedef {{ first: number, weights: number[] }} Sources input pixels of an output pixel */

const CHANNELS = 3, MOST_BITS = 22, LARGEST_WEIGHT = 2 ** 15;

/**
 * Return the pixels of a picture in another size.
 * @param {Picture} picture
 * @param {number} wide
 * @param {number} tall
 */
export function resizedPixels({ width, height, pixels }, wide, tall) {
  let found = pixels;
  if (width !== wide) {
    const layout = { lines: height, line: width * CHANNELS, step: CHANNELS };
    found = resizedAxis(found, resizePlan(width, wide), layout);
  }
  if (height === tall) return found;
  const row = wide * CHANNELS;
  return resizedAxis(found, resizePlan(height, tall), { lines: 1, line: height * row, step: row });
}

/**
 * Return the input pixels of each output pixel with their weights, and the number of bits of a
 * weight.
 * @param {number} from
 * @param {number} to
 */
function resizePlan(from, to) {
  const scale = from / to, wide = Math.max(scale, 1);
  const plan = Array.from({ length: to }, (_, place) => {
    const centre = scale * (place + 0.5);
    const first = Math.max(Math.floor(centre - wide + 0.5), 0);
    const end = Math.min(Math.floor(centre + wide + 0.5), from);
    const raw = Array.from({ length: end - first }, (__, i) => (
      Math.max(1 - Math.abs((i + first - centre + 0.5) / wide), 0)));
    const total = raw.reduce((sum, weight) => sum + weight, 0);
    return { first, weights: raw.map((weight) => weight / total) };
  });
  const largest = Math.max(...plan.flatMap(({ weights }) => weights));
  let bits = 0;
  while (bits < MOST_BITS && Math.floor(0.5 + largest * 2 ** (bits + 1)) < LARGEST_WEIGHT) bits += 1;
  const whole = plan.map(({ first, weights }) => (
    { first, weights: weights.map((weight) => Math.floor(weight * 2 ** bits + 0.5)) }));
  return { sources: /** @type {Sources[]} */ (whole), bits };
}

/**
 * Resize one axis of bytes.
 * @param {Uint8Array} bytes
 * @param {{ sources: Sources[], bits: number }} plan
 * @param {{ lines: number, line: number, step: number }} layout number of lines to resize, bytes
 *   per line, and bytes from one pixel of the axis to the next
 */
function resizedAxis(bytes, { sources, bits }, { lines, line, step }) {
  const found = new Uint8Array(lines * sources.length * step);
  const half = 2 ** (bits - 1);
  let to = 0;
  for (let number = 0; number < lines; number += 1) {
    for (const { first, weights } of sources) {
      const from = number * line + first * step;
      for (let i = 0; i < step; i += 1, to += 1) {
        let total = half;
        for (let j = 0; j < weights.length; j += 1) total += weights[j] * bytes[from + j * step + i];
        found[to] = Math.min(total >> bits, 255);
      }
    }
  }
  return found;
}

// The grey square that digit readers see of a picture, as in `fit_picture` in
// areaviz/models/pictures.py. It has light ink on a dark ground, and black margins.


/** @typedef {import('./recording.js').Placement} Placement */
/** @typedef {{ ink: Float32Array, side: number, place: Placement, isInverted: boolean }} Canvas */

const DARK = 128, SHADOW = 0.05;

/**
 * Fit a picture into a square. A picture is inverted if most pixels that differ from its border are
 * darker than the border.
 * @param {Picture} picture
 * @param {number} side
 * @returns {Canvas}
 */
export function fittedCanvas(picture, side) {
  const scale = side / Math.max(picture.height, picture.width);
  const sized = (/** @type {number} */ extent) => Math.max(1, roundHalfToEven(extent * scale));
  const width = sized(picture.width), height = sized(picture.height);
  const pixels = resizedPixels(picture, width, height);
  const grey = Float32Array.from({ length: width * height }, (_, i) => (
    (pixels[3 * i] + pixels[3 * i + 1] + pixels[3 * i + 2]) / 3));
  const { light, isInverted } = inkOf(grey, borderOf(grey, width, height));
  const top = Math.floor((side - height) / 2), left = Math.floor((side - width) / 2);
  const ink = new Float32Array(side * side);
  for (let row = 0; row < height; row += 1) {
    ink.set(light.subarray(row * width, (row + 1) * width), (top + row) * side + left);
  }
  const place = { side, scale: [width / picture.width, height / picture.height], offset: [left, top] };
  return { ink, side, place, isInverted };
}

/**
 * Return the pixels of the border in ascending order. The pixels of corners count twice.
 * @param {Float32Array} grey
 * @param {number} width
 * @param {number} height
 */
function borderOf(grey, width, height) {
  const border = [...grey.subarray(0, width), ...grey.subarray((height - 1) * width)];
  for (let row = 0; row < height; row += 1) border.push(grey[row * width], grey[(row + 1) * width - 1]);
  return Float32Array.from(border).sort();
}

/**
 * Return the ink of every pixel, 0 to 1.
 * @param {Float32Array} grey
 * @param {Float32Array} border in ascending order
 */
function inkOf(grey, border) {
  // The median of the border is the ground, because a digit rarely reaches the border.
  const ground = border[Math.floor((border.length - 1) / 2)];
  const excess = grey.reduce((sum, value) => sum + ground - value, 0);
  const isInverted = excess > 0 || (excess === 0 && ground >= DARK);
  if (!isInverted) return { light: grey.map((value) => value / 255), isInverted };
  // Differences as small as those within the border are shadows on the paper, not ink.
  const deepest = Math.fround(ground - grey.reduce((least, value) => Math.min(least, value), ground));
  const at = SHADOW * (border.length - 1), below = border[Math.floor(at)];
  const darkest = below + (at % 1) * (border[Math.ceil(at)] - below);
  const shadow = Math.min(Math.fround(ground - Math.fround(darkest)), deepest / 2);
  const light = grey.map((value) => Math.max(ground - value - shadow, 0) / Math.max(deepest - shadow, 1));
  return { light, isInverted };
}

// Convolutions and pooling over squares of features [side, side, channels].


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
