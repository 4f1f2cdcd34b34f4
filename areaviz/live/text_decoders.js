// The LSTM translator with attention to areas, as in areaviz/models/translation.py. The top layer
// of the decoder attends to the top layer of the encoder, and the context is not fed back.

import { addTo, joined, linear, linearOf, rowsOf, tanhOf, normOf } from './linear.js';
import { MultiHeadAttention, AreaMemory } from './attention.js';
import { CROSS, embeddingOf, DECODER_SELF, Layer, areaOptions, DecodingNetwork, Transformer } from './transformer.js';
import { RecurrentNetwork, advancedLayers, cellOf, embedWords, readItems, topOf } from './recurrent.js';
import { Birnn } from './birnn.js';
import { CaptionTransformer } from './captioner.js';
import { BeginningInput, PictureInput, SentenceInput } from './inputs.js';

/** @typedef {import('./attention.js').LayerRecord} LayerRecord */
/** @typedef {import('./interventions.js').Changes} Changes */
/** @typedef {import('./recurrent.js').Begun} Begun */
/** @typedef {import('./recurrent.js').State} State */
/** @typedef {import('./weights.js').Weights} Weights */
/**
 * @typedef {object} LstmConfig the options of a card
 * @property {number} depth
 * @property {number} width
 * @property {number} heads
 * @property {number} area_size
 * @property {string} key_mode
 */

/** The translator, from source tokens to logits of target tokens. */
export class LstmTranslator extends RecurrentNetwork {
  /**
   * @param {LstmConfig} config
   * @param {Weights} weights
   */
  constructor(config, weights) {
    super(config.heads, config.area_size);
    this.config = config;
    this.embedding = embeddingOf(weights);
    const cells = (/** @type {string} */ name) => (
      Array.from({ length: config.depth }, (_, layer) => cellOf(weights, name, layer, 'lstm')));
    this.encoder = cells('encoder');
    this.decoder = cells('decoder');
    this.start = linearOf(weights, 'start');
    const areas = { heads: config.heads, most: config.area_size, keyMode: config.key_mode, shape: null };
    this.cross = new MultiHeadAttention(weights, 'cross', areas);
    this.hiddenOut = linearOf(weights, 'hidden_out');
  }

  /**
   * Return the items to attend to, and the decoder's first state: hidden and cell of every layer.
   * @param {number[]} source
   * @param {Changes} changes
   */
  read(source, changes) {
    const words = embedWords(this.embedding, source);
    const { items, last } = readItems(this.encoder, words, changes.hidden('source'));
    const { depth, width } = this.config;
    // First the hidden states of all layers, then their cells.
    const parts = rowsOf(tanhOf(linear(this.start, last)), width);
    /** @type {State} */
    const state = [];
    for (let layer = 0; layer < depth; layer += 1) state.push(parts[layer], parts[depth + layer]);
    return { memory: this.cross.remember(joined(...items)), state };
  }

  /**
   * Return logits from the decoder's top layer and the context.
   * @param {Float32Array} top
   * @param {Float32Array} context
   */
  readOut(top, context) {
    return linear(this.embedding, tanhOf(addTo(linear(this.hiddenOut, top), context)));
  }

  /**
   * Return the decoder over a source.
   * @param {{ source: number[] }} inputs
   * @param {Changes} changes
   * @param {LayerRecord | null} record where weights are stored
   * @returns {Begun}
   */
  begin({ source }, changes, record) {
    const { memory, state } = this.read(source, changes), own = changes.at(CROSS, 0);
    return {
      state,
      advance: (ids, states, query) => {
        const found = advancedLayers(this.decoder, embedWords(this.embedding, ids), states);
        const top = topOf(found);
        const context = this.cross.step(top, ids.map(() => memory), own, { record, query });
        return { logits: this.readOut(top, context), states: found };
      },
    };
  }
}

// The recurrent language model, whose states attend to areas of the states up to them, as in
// areaviz/models/language.py.


/**
 * @typedef {object} RecurrentTextConfig the options of a card
 * @property {number} depth
 * @property {number} width
 * @property {number} heads
 * @property {number} area_size
 * @property {string} key_mode
 */
/**
 * @typedef {object} Past what a row has read
 * @property {State} cells the states of the LSTM
 * @property {AreaMemory} memory its states after every token
 */

/** The language model. The text that it continues is the beginning of its output. */
export class RecurrentLanguageNetwork extends RecurrentNetwork {
  /**
   * @param {RecurrentTextConfig} config
   * @param {Weights} weights
   */
  constructor(config, weights) {
    super(config.heads, config.area_size);
    const { depth, width, heads } = config;
    /** @type {Record<string, [string, string]>} */
    this.sites = { [DECODER_SELF]: ['target', 'history'] };
    /** The largest number of tokens of a continuation. */
    this.longest = 24;
    this.embedding = embeddingOf(weights);
    this.cells = Array.from({ length: depth }, (_, layer) => cellOf(weights, 'reader', layer, 'lstm'));
    this.start = Array.from({ length: 2 * depth }, () => new Float32Array(width));
    const areas = { heads, most: config.area_size, keyMode: config.key_mode, shape: null };
    this.attention = new MultiHeadAttention(weights, 'attention', areas);
    this.hiddenOut = linearOf(weights, 'hidden_out');
  }

  /**
   * Return the decoder at the beginning of a text.
   * @param {any} inputs nothing, because all of the text is output
   * @param {Changes} changes
   * @param {LayerRecord | null} record where weights are stored
   * @returns {any} see `Begun`, with a `Past` as the state of a row
   */
  begin(inputs, changes, record) {
    const own = changes.at(DECODER_SELF, 0), hidden = changes.hidden('history');
    return {
      state: { cells: this.start, memory: new AreaMemory() },
      advance: (/** @type {number[]} */ ids, /** @type {Past[]} */ pasts, /** @type {number | null} */ query) => {
        const before = pasts.map(({ cells }) => cells);
        // The LSTM skips a hidden token, so its state after one is the state before it.
        const isHidden = hidden.has(pasts[0].memory.count);
        const cells = isHidden ? before : advancedLayers(this.cells, embedWords(this.embedding, ids), before);
        const top = topOf(cells), newest = this.attention.remember(top);
        const memories = pasts.map(({ memory }, row) => memory.with(newest, row));
        const context = this.attention.step(top, memories, own, { record, query });
        const logits = linear(this.embedding, tanhOf(addTo(linear(this.hiddenOut, top), context)));
        return { logits, states: cells.map((state, row) => ({ cells: state, memory: memories[row] })) };
      },
    };
  }
}

// The decoder-only Transformer, a language model with area attention, as in
// areaviz/models/language.py.


/** @typedef {import('./transformer.js').TransformerConfig} TransformerConfig */

/** The language model. The text that it continues is the beginning of its output. */
export class LanguageNetwork extends DecodingNetwork {
  /**
   * @param {TransformerConfig} config
   * @param {Weights} weights
   */
  constructor(config, weights) {
    const layers = Array.from({ length: config.layers }, (_, layer) => (
      new Layer(weights, `decoder.${layer}`, areaOptions(config, layer))));
    const decoder = { layers, norm: normOf(weights, 'norm'), embedding: embeddingOf(weights) };
    super(config, { [DECODER_SELF]: ['target', 'history'] }, decoder);
    /** The largest number of tokens of a continuation. */
    this.longest = 24;
  }
}

// The families of models that the engine runs, with the classes of their network and of its input.
// To add a family, write a network and add a line here.


/** @typedef {import('./tokenizer.js').Tokenizer} Tokenizer */
/**
 * @typedef {object} Family
 * @property {new (config: any, weights: Weights) => any} network
 * @property {new (tokenizer: Tokenizer, config: any) => SentenceInput} input
 */

/** @type {Record<string, Family>} */
export const FAMILIES = {
  transformer: { network: Transformer, input: SentenceInput },
  lstm: { network: LstmTranslator, input: SentenceInput },
  birnn: { network: Birnn, input: SentenceInput },
  'text decoder': { network: LanguageNetwork, input: BeginningInput },
  'recurrent text decoder': { network: RecurrentLanguageNetwork, input: BeginningInput },
  captioner: { network: CaptionTransformer, input: PictureInput },
};
