// Linear layers, layer normalisation and other functions of rows of numbers. A matrix [R, W] is a
// Float32Array with its R rows one after the other. Sums are computed in double precision.

/** @typedef {import('./weights.js').Weights} Weights */
/** @typedef {{ weight: Float32Array, bias: Float32Array | null, width: number, out: number }} Linear */
/** @typedef {{ weight: Float32Array, bias: Float32Array }} Norm */

const EPSILON = 1e-5;

/**
 * Return the parameters of a linear layer.
 * @param {Weights} weights
 * @param {string} name
 * @returns {Linear}
 */
export function linearOf(weights, name) {
  const { shape: [out, width], data } = weights.get(`${name}.weight`);
  const bias = weights.has(`${name}.bias`) ? weights.data(`${name}.bias`) : null;
  return { weight: data, bias, width, out };
}

/**
 * Return the parameters of a layer normalisation.
 * @param {Weights} weights
 * @param {string} name
 * @returns {Norm}
 */
export function normOf(weights, name) {
  return { weight: weights.data(`${name}.weight`), bias: weights.data(`${name}.bias`) };
}

/**
 * Return x W' + b for every row of x: [R, width] -> [R, out].
 * @param {Linear} layer
 * @param {Float32Array} x
 */
export function linear(layer, x) {
  const rows = x.length / layer.width;
  const y = new Float32Array(rows * layer.out);
  let row = 0;
  for (; row + 4 <= rows; row += 4) fourRows(layer, x, row, y);
  for (; row < rows; row += 1) oneRow(layer, x, row, y);
  return y;
}

/**
 * Compute four rows at once, two outputs at a time. Every number that is read is used several times,
 * which takes half the time of single rows.
 * @param {Linear} layer
 * @param {Float32Array} x
 * @param {number} row the first of the four rows
 * @param {Float32Array} y receives the result
 */
function fourRows({ weight, bias, width, out }, x, row, y) {
  const p = row * width, q = p + width, r = q + width, s = r + width;
  for (let o = 0; o < out; o += 2) {
    const next = Math.min(o + 1, out - 1); // The last of an odd number of outputs is computed twice.
    const one = o * width, two = next * width;
    let a = bias ? bias[o] : 0, e = bias ? bias[next] : 0;
    let b = a, c = a, d = a, f = e, g = e, h = e;
    for (let i = 0; i < width; i += 1) {
      const u = weight[one + i], v = weight[two + i];
      const x0 = x[p + i], x1 = x[q + i], x2 = x[r + i], x3 = x[s + i];
      a += u * x0; b += u * x1; c += u * x2; d += u * x3;
      e += v * x0; f += v * x1; g += v * x2; h += v * x3;
    }
    let to = row * out + o;
    const step = next - o;
    y[to] = a; y[to + step] = e; to += out;
    y[to] = b; y[to + step] = f; to += out;
    y[to] = c; y[to + step] = g; to += out;
    y[to] = d; y[to + step] = h;
  }
}

/**
 * Compute one row, four outputs at a time.
 * @param {Linear} layer
 * @param {Float32Array} x
 * @param {number} row
 * @param {Float32Array} y receives the result
 */
function oneRow({ weight, bias, width, out }, x, row, y) {
  const at = row * width, to = row * out;
  for (let o = 0; o < out; o += 4) {
    // Beyond the last output, the last one is computed again.
    const n = Math.min(o + 1, out - 1), m = Math.min(o + 2, out - 1), k = Math.min(o + 3, out - 1);
    const p = o * width, q = n * width, r = m * width, s = k * width;
    let a = 0, b = 0, c = 0, d = 0;
    for (let i = 0; i < width; i += 1) {
      const value = x[at + i];
      a += weight[p + i] * value; b += weight[q + i] * value;
      c += weight[r + i] * value; d += weight[s + i] * value;
    }
    y[to + o] = bias ? a + bias[o] : a;
    y[to + n] = bias ? b + bias[n] : b;
    y[to + m] = bias ? c + bias[m] : c;
    y[to + k] = bias ? d + bias[k] : d;
  }
}

/**
 * Return the inner product of `count` numbers of two arrays.
 * @param {Float32Array} one
 * @param {number} first the place of the first number in `one`
 * @param {Float32Array} other
 * @param {number} at the place of the first number in `other`
 * @param {number} count
 */
export function dot(one, first, other, at, count) {
  let sum = 0;
  for (let i = 0; i < count; i += 1) sum += one[first + i] * other[at + i];
  return sum;
}

/**
 * Return every row with mean 0 and deviation 1, scaled and shifted (Ba et al. 2016).
 * @param {Norm} norm
 * @param {Float32Array} x
 */
export function normalised({ weight, bias }, x) {
  const width = weight.length;
  const y = new Float32Array(x.length);
  for (let row = 0; row < x.length; row += width) {
    let mean = 0;
    for (let i = 0; i < width; i += 1) mean += x[row + i];
    mean /= width;
    let variance = 0;
    for (let i = 0; i < width; i += 1) variance += (x[row + i] - mean) ** 2;
    const factor = 1 / Math.sqrt(variance / width + EPSILON);
    for (let i = 0; i < width; i += 1) y[row + i] = (x[row + i] - mean) * factor * weight[i] + bias[i];
  }
  return y;
}

/**
 * Add `other` to `x` in place and return `x`.
 * @param {Float32Array} x
 * @param {Float32Array} other
 */
export function addTo(x, other) {
  for (let i = 0; i < x.length; i += 1) x[i] += other[i];
  return x;
}

/**
 * Set negative numbers to 0 in place and return the array.
 * @param {Float32Array} x
 */
export function rectify(x) {
  for (let i = 0; i < x.length; i += 1) if (x[i] < 0) x[i] = 0;
  return x;
}

/**
 * Replace each number by its hyperbolic tangent and return the array.
 * @param {Float32Array} x
 */
export function tanhOf(x) {
  for (let i = 0; i < x.length; i += 1) x[i] = Math.tanh(x[i]);
  return x;
}

/**
 * Return the numbers of several arrays one after the other.
 * @param {Float32Array[]} parts
 */
export function joined(...parts) {
  const found = new Float32Array(parts.reduce((total, { length }) => total + length, 0));
  let to = 0;
  for (const part of parts) {
    found.set(part, to);
    to += part.length;
  }
  return found;
}

/**
 * Return the rows of a matrix as views of it.
 * @param {Float32Array} x
 * @param {number} width
 */
export function rowsOf(x, width) {
  return Array.from({ length: x.length / width }, (_, row) => x.subarray(row * width, (row + 1) * width));
}
