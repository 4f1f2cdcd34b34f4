// The model around a network that reads digits, as in areaviz/models/digit_reader.py. It uses the
// most probable place of every look. Python does so too, unless a reader asks for random looks.

import { AreaGrid, softmax } from './attention.js';
import { fittedCanvas } from './pictures.js';
import { Items, Ram } from './items_and_ram.js';
import { alternativesOf, cellField, inPicture, roundHalfToEven } from './recording.js';
import { InputError, checkedRequest } from './request.js';
import { CROSS } from './transformer.js';
import { Stn } from './stn.js';
import { Weights } from './weights.js';

/** @typedef {import('./pictures.js').Canvas} Canvas */
/** @typedef {import('./recording.js').AttentionMap} AttentionMap */
/** @typedef {import('./recording.js').Field} Field */
/** @typedef {import('./recording.js').Gaze} Gaze */
/** @typedef {import('./request.js').Request} Request */
/** @typedef {import('./writing.js').Card} Card */
/** @typedef {import('./writing.js').Trace} Trace */
/**
 * @typedef {object} Reading the result for one picture, look by look
 * @property {Float32Array[]} logits the prediction after each look
 * @property {number} digits number of digits, which are read one after the other
 * @property {Float32Array} [weights] [T, M], weights of the cells
 * @property {number[]} [chosen] the cell that each look read under hard attention
 * @property {{ site: string, corners: number[], seen: ArrayLike<number>, scales: number, patch:
 *   number }} [gaze] the patches that were read, with corners in pixels of the canvas and values
 *   from 0 to 1
 */
/** @typedef {new (config: any, weights: Weights) => { read(canvas: Canvas): Reading }} Reader */

/** @type {Record<string, Reader>} */
const READERS = { items: Items, ram: Ram, stn: Stn };
const MOST_PROBABLE = 'This page shows the most probable looks. Leave random looks to areaviz in Python.';
const NO_AREAS = 'This model looks at cells or places, not at areas. Keep the default largest area.';

/** A model that reads the digits of a picture and records where it looked. */
export class DigitModel {
  /**
   * @param {Card} card
   * @param {ArrayBuffer} weights the bytes of model.safetensors
   */
  constructor(card, weights) {
    this.card = card;
    this.network = new READERS[card.family](card.config, new Weights(weights));
  }

  /**
   * Read a picture.
   * @param {Partial<Request>} given
   * @returns {Trace}
   */
  trace(given) {
    const request = checkedRequest(this.card.name, given), { picture } = request;
    this.check(request);
    if (!picture) throw new InputError('This model needs a picture. Choose or upload one.');
    const canvas = fittedCanvas(picture, this.card.side);
    const reading = this.network.read(canvas);
    const likely = reading.logits.map((row) => Float32Array.from(softmax(Float64Array.from(row))));
    const output = likely.map((row) => {
      const alternatives = alternativesOf(row, String);
      return { probability: alternatives[0][1], alternatives };
    });
    const labels = output.map(({ alternatives }) => alternatives[0][0]);
    const side = reading.weights ? Math.sqrt(reading.weights.length / labels.length) : 1;
    /** @type {Field} */
    const target = { name: 'target', kind: 'text', raw: labels.join(''), labels, anchors: labels.map((_, i) => [i, i + 1]) };
    const fields = { picture: cellField(picture, side, side > 1 ? canvas.place : undefined), target };
    const details = this.details(reading, labels, canvas);
    return { request, fields, output, maps: mapsOf(reading, side), gazes: gazesOf(reading, canvas), details };
  }

  /** @param {Request & { sample?: boolean }} request */
  check({ area_size: size, target, changes, sample }) {
    if (size !== null && size > 1) throw new InputError(NO_AREAS);
    if (sample) throw new InputError(MOST_PROBABLE);
    if (target !== null || changes) {
      throw new InputError(`${this.card.title} supports neither changes nor a given output. Leave both out.`);
    }
  }

  /**
   * Return the answer and the costs of a reading, with a warning if the picture was inverted.
   * @param {Reading} reading
   * @param {string[]} labels the digit after each look
   * @param {Canvas} canvas
   */
  details({ digits, gaze }, labels, { side, isInverted }) {
    const each = labels.length / digits;
    const pixels = gaze?.site === 'glimpses' ? gaze.seen.length : side ** 2;
    /** @type {Record<string, string>} */
    const found = {
      device: 'browser',
      answer: labels.filter((_, look) => (look + 1) % each === 0).join(''),
      'pixels read': pixels.toLocaleString('en-US'),
      'multiply-adds': this.card.multiplyAdds.toLocaleString('en-US'),
      draws: '0',
    };
    if (isInverted) found.warning = 'The picture was inverted: this model reads light digits on dark.';
    return found;
  }
}

/**
 * Return the attention to the cells of a grid, if there is one.
 * @param {Reading} reading
 * @param {number} side of the grid
 * @returns {Record<string, AttentionMap>}
 */
function mapsOf({ logits, weights, chosen }, side) {
  if (!weights) return {};
  const map = { site: CROSS, query: 'target', memory: 'picture', grid: new AreaGrid(side, side, 1, 1), layers: 1, heads: 1 };
  return { [CROSS]: { ...map, queries: logits.length, weights, chosen, normalisation: 'softmax over cells' } };
}

/**
 * Return the patches that were read, and for a spatial transformer the canvas from which it read.
 * @param {Reading} reading
 * @param {Canvas} canvas
 * @returns {Record<string, Gaze>}
 */
function gazesOf({ logits: { length: looks }, gaze }, { ink, side, place }) {
  if (!gaze) return {};
  const { site, corners, seen, scales, patch } = gaze;
  const inPixels = (/** @type {number[]} */ places) => Float32Array.from(places, (at, i) => inPicture(at, i % 2, place));
  const found = { [site]: { site, corners: inPixels(corners), seen: bytesOf(seen), shape: [looks, scales, patch] } };
  if (site !== 'transformer') return found;
  const whole = inPixels([0, 0, side, 0, side, side, 0, side]);
  return { ...found, canvas: { site: 'canvas', corners: whole, seen: bytesOf(ink), shape: [looks, 1, side] } };
}

/** @param {ArrayLike<number>} values from 0 to 1 */
function bytesOf(values) {
  return Uint8Array.from(values, (value) => (
    roundHalfToEven(Math.fround(Math.min(Math.max(Math.fround(value), 0), 1) * 255))));
}
