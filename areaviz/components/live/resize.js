// Resizing of pictures as PyTorch resizes bytes: bilinear with antialiasing, first across and then
// down, with integer weights. areaviz/models/canvas.py resizes in the same way, so all pixels are
// equal.

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
