// The grey square that digit readers see of a picture, as in `fit_picture` in
// areaviz/models/canvas.py. It has light ink on a dark ground, and black margins.

import { roundHalfToEven } from './recording.js';
import { resizedPixels } from './resize.js';

/** @typedef {import('./recording.js').Placement} Placement */
/** @typedef {import('./resize.js').Picture} Picture */
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
