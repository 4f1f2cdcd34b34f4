// The window of a spatial transformer (survey Eq. 26-32). Theta is [a, b, c, d, e, f], a matrix of
// two rows. It maps a place of the output to a place of the input. Both are (x, y), from -1 to 1 at
// the outer edges.

/** @typedef {{ height: number, width: number, rgb: ArrayLike<number> }} Pixels red, green and blue, row by row */

/**
 * The place of the input from which a place of the output is read.
 * @param {number[]} theta
 * @param {number[]} place
 */
export function mapped([a, b, c, d, e, f], [x, y]) {
  return [a * x + b * y + c, d * x + e * y + f];
}

/**
 * The place of the middle of an output pixel.
 * @param {number} row
 * @param {number} column
 * @param {number} side of the output, in pixels
 */
export function placeOf(row, column, side) {
  return [(2 * column + 1) / side - 1, (2 * row + 1) / side - 1];
}

/**
 * Bilinear interpolation of the four pixels around a place of the input (Eq. 32). Pixels outside of
 * the picture are 0.
 * @param {Pixels} picture
 * @param {number[]} place
 */
export function mixedAt({ height, width, rgb }, [x, y]) {
  const [across, down] = [((x + 1) * width - 1) / 2, ((y + 1) * height - 1) / 2];
  const [left, top] = [Math.floor(across), Math.floor(down)];
  const sum = [0, 0, 0];
  for (let row = top; row <= top + 1; row += 1) {
    for (let column = left; column <= left + 1; column += 1) {
      if (row < 0 || row >= height || column < 0 || column >= width) continue;
      const weight = (1 - Math.abs(across - column)) * (1 - Math.abs(down - row));
      for (let channel = 0; channel < 3; channel += 1) sum[channel] += weight * rgb[3 * (row * width + column) + channel];
    }
  }
  return sum;
}

/**
 * The output: red, green and blue of every pixel, row by row.
 * @param {Pixels} picture
 * @param {number[]} theta
 * @param {number} side
 */
export function warpedPixels(picture, theta, side) {
  const found = /** @type {number[][]} */ ([]);
  for (let row = 0; row < side; row += 1) {
    for (let column = 0; column < side; column += 1) found.push(mixedAt(picture, mapped(theta, placeOf(row, column, side))));
  }
  return found;
}
