// A memory network and its model, as in areaviz/models/stories.py: a question attends to
// facts in several hops, each of which changes the query (Sukhbaatar et al. 2015).

import { addValues, softmax, sequenceGrid } from './attention.js';
import { largestOf } from './beam.js';
import { Changes, readChanges } from './interventions.js';
import { dot } from './linear.js';
import { Recording, alternativesOf } from './recording.js';
import { InputError, checkedRequest } from './request.js';
import { Weights } from './weights.js';

/** @typedef {import('./recording.js').Field} Field */
/** @typedef {import('./writing.js').Card} Card */
/** @typedef {import('./writing.js').Trace} Trace */
/** @typedef {{ words: string[], answers: string[], width: number, hops: number, most_facts: number }} MemoryConfig */

const HOPS = 'hops', MOST_NAMED_WORDS = 8, LONGEST_SHOWN = 40;
/** @type {Record<string, [string, string]>} */
const HOP_SITES = { [HOPS]: ['question', 'facts'] };
const STORY_EXAMPLE = 'Mary went to the kitchen. Where is Mary?';

/** A model that answers questions and records which facts it read in every hop. */
export class AnsweringModel {
  /**
   * @param {Card} card
   * @param {ArrayBuffer} weights the bytes of model.safetensors
   */
  constructor(card, weights) {
    const read = new Weights(weights);
    this.card = card;
    /** @type {MemoryConfig} */
    this.config = card.config;
    this.embeddings = read.data('embeddings');
    this.ages = read.data('ages');
    this.answers = read.data('answer');
    this.known = new Map(this.config.words.map((word, number) => [word, number]));
  }

  /**
   * Answer a request.
   * @param {Partial<import('./request.js').Request>} given
   * @returns {Trace}
   */
  trace(given) {
    const request = checkedRequest(this.card.name, given);
    const { facts, question } = storyFields(request.text);
    const { answers, hops, most_facts: most } = this.config, count = facts.labels.length;
    if (count > most) {
      throw new InputError(`The story has ${count} facts, but the limit is ${most}. Remove ${count - most}.`);
    }
    const grid = sequenceGrid(count, 1), lengths = { question: 1, facts: count };
    const { maps } = new Recording(HOP_SITES, { layers: hops, heads: 1 }, () => grid, lengths);
    maps[HOPS].normalisation = 'softmax over facts';
    const changes = new Changes(readChanges(request.changes), HOP_SITES);
    const likely = this.answer(facts.labels, question.raw, changes, maps[HOPS].weights);
    const chosen = request.target === null ? largestOf(likely, 1)[0] : this.given(request.target);
    const label = answers[chosen];
    const target = { name: 'target', kind: 'text', raw: label, labels: [label], anchors: [[0, label.length]] };
    const alternatives = alternativesOf(likely, (one) => answers[one]);
    return {
      request,
      fields: { facts, question, target },
      output: [{ probability: likely[chosen], alternatives }],
      maps,
      details: this.details([...facts.labels, question.raw]),
    };
  }

  /**
   * Return the probability of every answer, and store the weights of every hop.
   * @param {string[]} facts
   * @param {string} question
   * @param {Changes} changes
   * @param {Float32Array} weights [K, M]
   */
  answer(facts, question, changes, weights) {
    const { width, hops, most_facts: most, answers } = this.config;
    const grid = sequenceGrid(facts.length, 1);
    const state = this.embedded(question, 0);
    const memory = (/** @type {number} */ number) => facts.map((fact, place) => {
      const age = (number * most + facts.length - 1 - place) * width;
      return this.embedded(fact, number).map((value, i) => value + this.ages[age + i]);
    });
    for (let hop = 0; hop < hops; hop += 1) {
      const own = changes.at(HOPS, hop), output = memory(hop + 1);
      const match = Float64Array.from(memory(hop), (fact) => dot(fact, 0, state, 0, width));
      const shares = softmax(match, own && own.factors(grid, 0, 0));
      weights.set(shares, hop * facts.length);
      addValues(shares, output, state, 0, width, own ? own.gate(0) : 1);
    }
    const logits = Float64Array.from(answers, (_, one) => dot(this.answers, one * width, state, 0, width));
    return Float32Array.from(softmax(logits));
  }

  /**
   * Embed a sentence: entry k of word j of J is multiplied by (1 - j/J) - (k/W) (1 - 2j/J).
   * @param {string} sentence
   * @param {number} number the embedding
   */
  embedded(sentence, number) {
    const { width, words } = this.config;
    const known = wordsIn(sentence).flatMap((word) => this.known.get(word) ?? []);
    const found = new Float32Array(width);
    known.forEach((word, place) => {
      const share = (place + 1) / known.length, first = (number * words.length + word) * width;
      for (let i = 0; i < width; i += 1) {
        found[i] += this.embeddings[first + i] * (1 - share - ((i + 1) / width) * (1 - 2 * share));
      }
    });
    return found;
  }

  /** @param {string} target */
  given(target) {
    const { answers } = this.config, found = answers.indexOf(target.trim().toLowerCase());
    if (found < 0) {
      const single = answers.filter((one) => !one.includes(',')).join(', ');
      throw new InputError(`"${clipped(target)}" is not an answer of this model. Leave the answer out,`
        + ` or choose one of: ${single}.`);
    }
    return found;
  }

  /** @param {string[]} sentences */
  details(sentences) {
    const words = sentences.flatMap(wordsIn).filter((word) => !this.known.has(word));
    const unknown = [...new Set(words)];
    /** @type {Record<string, string>} */
    const found = { device: 'browser' };
    if (unknown.length) {
      const more = unknown.length > MOST_NAMED_WORDS ? ' and more' : '';
      found.warning = `This model has never seen ${unknown.slice(0, MOST_NAMED_WORDS).map(clipped).join(', ')}`
        + `${more}: it ignores them.`;
    }
    return found;
  }
}

/** @param {string} text */
function clipped(text) {
  const characters = [...text];
  return characters.length > LONGEST_SHOWN ? `${characters.slice(0, LONGEST_SHOWN - 1).join('')}…` : text;
}

/** @param {string} sentence */
function wordsIn(sentence) {
  return sentence.toLowerCase().match(/[\p{L}\p{N}_']+/gu) ?? [];
}

/**
 * Return the fields of a story and its question. Positions count code points.
 * @param {string} text
 * @returns {{ facts: Field, question: Field }}
 */
function storyFields(text) {
  const spans = [...text.matchAll(/[^\s.?!][^.?!]*[.?!]*/gu)].map(({ 0: raw, index }) => {
    const sentence = raw.trimEnd(), start = [...text.slice(0, index)].length;
    return { sentence, anchor: [start, start + [...sentence].length] };
  });
  const asked = spans.pop()?.sentence ?? '';
  if (!asked.endsWith('?')) {
    throw new InputError(`The story has no question at its end. Add one that ends with “?”, for example: ${STORY_EXAMPLE}`);
  }
  if (!spans.length) {
    throw new InputError('The question has no facts. Write at least one sentence before it, for'
      + ` example: ${STORY_EXAMPLE}`);
  }
  const labels = spans.map(({ sentence }) => sentence), anchors = spans.map(({ anchor }) => anchor);
  return {
    facts: { name: 'facts', kind: 'facts', raw: text, labels, anchors },
    question: { name: 'question', kind: 'text', raw: asked, labels: [asked], anchors: [[0, [...asked].length]] },
  };
}
