// The captioning Transformer, from pixels to words, as in areaviz/models/captioner.py. Areas are
// rectangles of the picture's cells; the caption so far has single items.

import { AreaGrid, sequenceGrid } from './area_grid.js';
import { UNCHANGED } from './interventions.js';
import { DecoderLayer, EncoderLayer, areaOptions } from './layers.js';
import { addTo, linear, linearOf, normOf, normalised } from './linear.js';
import { PictureEncoder } from './picture_encoder.js';
import { resizedPixels } from './resize.js';
import { CROSS, DECODER_SELF, ENCODER_SELF } from './sites.js';
import { TransformerStepper, decode, embeddingOf } from './transformer.js';

/** @typedef {import('./interventions.js').Changes} Changes */
/** @typedef {import('./layers.js').TransformerConfig} TransformerConfig */
/** @typedef {import('./recording.js').Recording} Recording */
/** @typedef {import('./resize.js').Picture} Picture */
/** @typedef {import('./weights.js').Weights} Weights */
/** @typedef {TransformerConfig & { grid: number, encoder: import('./picture_encoder.js').EncoderConfig }} CaptionerConfig */

/** The captioner, from pixels to words. */
export class CaptionTransformer {
  /**
   * @param {CaptionerConfig} config
   * @param {Weights} weights
   */
  constructor(config, weights) {
    this.config = config;
    this.layers = config.layers;
    this.heads = config.heads;
    /** The largest number of words of a caption. */
    this.longest = 30;
    /** @type {Record<string, [string, string]>} */
    this.sites = {
      [ENCODER_SELF]: ['picture', 'picture'],
      [DECODER_SELF]: ['target', 'history'],
      [CROSS]: ['target', 'picture'],
    };
    this.pictures = new PictureEncoder(config.encoder, config.grid, weights);
    this.enter = linearOf(weights, 'enter');
    this.place = weights.data('place');
    this.norms = [0, 1, 2].map((number) => normOf(weights, `norms.${number}`));
    const single = { heads: config.heads, most: 1, keyMode: 'mean', shape: null };
    const layers = Array.from({ length: config.layers }, (_, layer) => (
      areaOptions(config, layer, [config.grid, config.grid])));
    this.encoder = layers.map((areas, layer) => new EncoderLayer(weights, `encoder.${layer}`, areas));
    this.decoder = {
      layers: layers.map((areas, layer) => new DecoderLayer(weights, `decoder.${layer}`, single, areas)),
      norm: this.norms[2],
      embedding: embeddingOf(weights),
    };
  }

  /**
   * Return the areas of a field in the first layer; only the picture has areas.
   * @param {string} field
   * @param {number} items
   */
  areas(field, items) {
    if (field !== 'picture') return sequenceGrid(items, 1);
    const { grid, area_size: size, area_layers: layers } = this.config;
    return new AreaGrid(grid, grid, layers ? size : 1, layers ? size : 1);
  }

  /**
   * Return the logits [T, V] of a caption, and record the weights.
   * @param {{ picture: Picture }} inputs
   * @param {number[]} target token ids, which begin with the start symbol
   * @param {Changes} changes
   * @param {Recording | null} recording
   */
  attend({ picture }, target, changes = UNCHANGED, recording = null) {
    return decode(this.decoder, this.encode(picture, changes, recording), target, changes, recording);
  }

  /**
   * Return the encoder's output [M, W].
   * @param {Picture} picture
   * @param {Changes} changes
   * @param {Recording | null} recording
   */
  encode(picture, changes, recording = null) {
    const { side } = this.pictures, features = this.pictures.encode(resizedPixels(picture, side, side));
    let x = addTo(normalised(this.norms[0], linear(this.enter, features)), this.place);
    this.encoder.forEach((layer, number) => {
      const record = recording?.layer(ENCODER_SELF, number);
      x = layer.apply(x, { changes: changes.at(ENCODER_SELF, number), record });
    });
    return normalised(this.norms[1], x);
  }

  /**
   * Return the decoder over a picture, which writes one word at a time.
   * @param {{ picture: Picture }} inputs
   * @param {Changes} changes
   */
  write({ picture }, changes = UNCHANGED) {
    return new TransformerStepper(this.decoder, this.encode(picture, changes), changes);
  }
}
