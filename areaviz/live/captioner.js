// The small picture encoder, as `PictureEncoder` in areaviz/models/pictures.py. Pixels and features
// are [height, width, channels]. Batch normalisation is included in the weights of convolutions.

import { addTo, linear, linearOf, normOf, normalised } from './linear.js';
import { AreaGrid, sequenceGrid } from './attention.js';
import { Layer, areaOptions, DecodingNetwork, embeddingOf, encode, encoderSites } from './transformer.js';
import { cellEdges, convolutionOf, convolved, pooled, rectified, resizedPixels } from './pictures.js';

/** @typedef {import('./weights.js').Weights} Weights */
/** @typedef {import('./pictures.js').Convolution} Convolution */
/** @typedef {import('./pictures.js').Features} Features */
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

// The captioning Transformer, from pixels to words, as in areaviz/models/captions.py. Areas are
// rectangles of the picture's cells. Attention to the written words has single items.


/** @typedef {import('./interventions.js').Changes} Changes */
/** @typedef {import('./transformer.js').TransformerConfig} TransformerConfig */
/** @typedef {import('./recording.js').Recording} Recording */
/** @typedef {import('./pictures.js').Picture} Picture */
/** @typedef {TransformerConfig & { grid: number, encoder: EncoderConfig }} CaptionerConfig */

/** The captioner, from pixels to words. */
export class CaptionTransformer extends DecodingNetwork {
  /**
   * @param {CaptionerConfig} config
   * @param {Weights} weights
   */
  constructor(config, weights) {
    const norms = [0, 1, 2].map((number) => normOf(weights, `norms.${number}`));
    const single = { heads: config.heads, most: 1, keyMode: 'mean', shape: null };
    const areas = Array.from({ length: config.layers }, (_, layer) => (
      areaOptions(config, layer, [config.grid, config.grid])));
    super(config, encoderSites('picture'), {
      layers: areas.map((own, layer) => new Layer(weights, `decoder.${layer}`, single, own)),
      norm: norms[2],
      embedding: embeddingOf(weights),
    });
    /** The largest number of words of a caption. */
    this.longest = 30;
    this.norms = norms;
    this.grid = config.grid;
    this.pictures = new PictureEncoder(config.encoder, config.grid, weights);
    this.enter = linearOf(weights, 'enter');
    this.place = weights.data('place');
    this.encoder = areas.map((own, layer) => new Layer(weights, `encoder.${layer}`, own));
  }

  /**
   * Return the areas of a field in the first layer; only the picture has areas.
   * @param {string} field
   * @param {number} items
   */
  areas(field, items) {
    return field === 'picture' ? new AreaGrid(this.grid, this.grid, this.areaSize, this.areaSize)
      : sequenceGrid(items, 1);
  }

  /**
   * @param {{ picture: Picture }} inputs
   * @param {Changes} changes
   * @param {Recording | null} recording
   */
  encode({ picture }, changes, recording = null) {
    const { side } = this.pictures, features = this.pictures.encode(resizedPixels(picture, side, side));
    const items = addTo(normalised(this.norms[0], linear(this.enter, features)), this.place);
    return encode(this.encoder, this.norms[1], items, changes, recording);
  }
}
