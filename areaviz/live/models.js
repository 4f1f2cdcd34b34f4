// The model of a card, which turns a request into a trace. Families of models that write with a
// network are in text_decoders.js.

import { DigitModel } from './digit_reader.js';
import { AnsweringModel } from './memory_network.js';
import { PointingModel } from './pointer.js';
import { WritingModel } from './writing.js';

/** @typedef {import('./writing.js').Card} Card */
/** @typedef {import('./writing.js').Trace} Trace */
/** @typedef {import('./tokenizer.js').Pieces} Pieces */
/** @typedef {{ trace(request: Partial<import('./request.js').Request>, onStep?: import('./beam.js').OnStep | null): Trace, tokenizer?: import('./tokenizer.js').Tokenizer }} Model */

/** @type {Record<string, new (card: Card, weights: ArrayBuffer, pieces: any) => Model>} */
const MODELS = { pointer: PointingModel, memory: AnsweringModel, items: DigitModel, ram: DigitModel, stn: DigitModel };

/**
 * Return the model of a card.
 * @param {Card} card
 * @param {ArrayBuffer} weights the bytes of model.safetensors
 * @param {Pieces | null} pieces the tokenizer; null for models without one
 * @returns {Model}
 */
export function modelOf(card, weights, pieces) {
  return new (MODELS[card.family] ?? WritingModel)(card, weights, /** @type {any} */ (pieces));
}
