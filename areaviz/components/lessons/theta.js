// The window of a spatial transformer (survey Eq. 26-32). Theta is [a, b, c, d, e, f], two rows of three; it maps a place
// of the output to a place of the input, both (x, y) from -1 to 1 at the outer edges.

/** @typedef {{ height: number, width: number, rgb: ArrayLike<number> }} Pixels red, green and blue, row by row */

/**
 * The place of the input that a place of the output asks for.
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
 * @param {number} side pixels a side of the output
 */
export function placeOf(row, column, side) {
  return [(2 * column + 1) / side - 1, (2 * row + 1) / side - 1];
}

/**
 * The mixture of the four pixels round a place of the input, each by its nearness (Eq. 32); 0 outside of the picture.
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
