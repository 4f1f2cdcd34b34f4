// The families of models that the engine runs, with the classes of their network and of its input.
// To add a family, write a network and add a line here.

import { Birnn } from './birnn.js';
import { CaptionTransformer } from './captioner.js';
import { BeginningInput, PictureInput, SentenceInput } from './inputs.js';
import { LstmTranslator } from './lstm.js';
import { RecurrentLanguageNetwork } from './recurrent_text_decoder.js';
import { LanguageNetwork } from './text_decoder.js';
import { Transformer } from './transformer.js';

/** @typedef {import('./tokenizer.js').Tokenizer} Tokenizer */
/** @typedef {import('./weights.js').Weights} Weights */
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
