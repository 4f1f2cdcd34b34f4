// Greedy and beam search over a stepper, as in areaviz/models/decoding.py: keep the most probable
// hypotheses of each length and return the best one.

/**
 * @typedef {object} Stepper a decoder that reads one more token of each row per step
 * @property {(tokens: number[]) => Float32Array[]} step returns log-probabilities of the next
 *   tokens
 * @property {(rows: number[]) => void} select replaces the state of row i by that of `rows[i]`
 */
/** @typedef {{ ids: number[], logProbability: number, finished: boolean }} Hypothesis */
/** @typedef {{ ids: number[], logProbability: number, parent: number }} Open */
/** @typedef {(done: number, most: number, ids: number[]) => void} OnStep */
/**
 * @typedef {object} SearchOptions
 * @property {number} start id of the symbol before a sentence
 * @property {number} end id of the symbol after a sentence
 * @property {number} limit largest number of tokens, including the end symbol
 * @property {number} width number of open hypotheses; 1 is greedy decoding
 * @property {number} alpha the length penalty
 */

/**
 * Return the divisor of a log-probability: ((5 + n) / 6)^alpha (Wu et al. 2016, Eq. 14).
 * @param {number} length
 * @param {number} alpha
 */
function lengthPenalty(length, alpha) {
  return ((5 + length) / 6) ** alpha;
}

/**
 * Return the best output.
 * @param {Stepper} stepper
 * @param {SearchOptions} options
 * @param {OnStep | null} onStep called at each step with the best open hypothesis
 * @returns {Hypothesis}
 */
export function search(stepper, options, onStep = null) {
  const { start, end, limit, width } = options;
  const beam = new Beam(options);
  let tokens = Array(width).fill(start);
  for (let done = 1; ; done += 1) {
    onStep?.(done, limit, beam.open[0].ids);
    beam.extend(stepper.step(tokens));
    if (beam.isDone()) return beam.best();
    tokens = Array.from({ length: width }, (_, row) => beam.open[row]?.ids.at(-1) ?? end);
    const parents = Array.from({ length: width }, (_, row) => beam.open[row]?.parent ?? row);
    if (parents.some((parent, row) => parent !== row)) stepper.select(parents);
  }
}

/** The hypotheses of one sentence. */
class Beam {
  /** @param {SearchOptions} options */
  constructor({ end, limit, width, alpha }) {
    this.end = end;
    this.limit = limit;
    this.width = width;
    this.alpha = alpha;
    /** @type {Open[]} */
    this.open = [{ ids: [], logProbability: 0, parent: 0 }];
    /** @type {Open[]} hypotheses that ended, best first */
    this.kept = [];
  }

  /** @param {Open} hypothesis */
  score({ ids, logProbability }) {
    return logProbability / lengthPenalty(ids.length, this.alpha);
  }

  /**
   * Select the best continuations of the open hypotheses.
   * @param {Float32Array[]} rows log-probabilities of the next tokens, one array per hypothesis
   */
  extend(rows) {
    /** @type {Open[]} */
    const continuations = [];
    this.open.forEach(({ ids, logProbability }, parent) => {
      for (const token of largestOf(rows[parent], this.width)) {
        const value = rows[parent][token];
        if (value === -Infinity) continue;
        continuations.push({ ids: [...ids, token], logProbability: logProbability + value, parent });
      }
    });
    // Sorting is stable, so ties keep the order of their hypotheses.
    continuations.sort((one, other) => other.logProbability - one.logProbability);
    const best = continuations.slice(0, this.width);
    this.open = best.filter(({ ids }) => ids.at(-1) !== this.end);
    const ended = best.filter(({ ids }) => ids.at(-1) === this.end);
    const ranked = [...this.kept, ...ended].sort((one, other) => this.score(other) - this.score(one));
    this.kept = ranked.slice(0, this.width);
  }

  /**
   * Return whether no open hypothesis can change the result. A log-probability only falls as a
   * hypothesis grows, and the penalty is largest at the limit.
   */
  isDone() {
    if (!this.open.length || this.open[0].ids.length === this.limit) return true;
    const last = this.kept[this.width - 1];
    const reachable = this.open[0].logProbability / lengthPenalty(this.limit, this.alpha);
    return last !== undefined && reachable <= this.score(last);
  }

  /** @returns {Hypothesis} */
  best() {
    const { ids, logProbability } = this.kept[0] ?? this.open[0];
    return { ids, logProbability, finished: this.kept.length > 0 };
  }
}

/**
 * Return the places of the `count` largest numbers, the largest first. Ties are ordered by place.
 * @param {ArrayLike<number>} values
 * @param {number} count
 */
export function largestOf(values, count) {
  /** @type {number[]} */
  const best = [];
  for (let i = 0; i < values.length; i += 1) {
    if (best.length === count && values[i] <= values[best[count - 1]]) continue;
    let place = best.length;
    while (place > 0 && values[best[place - 1]] < values[i]) place -= 1;
    best.splice(place, 0, i);
    if (best.length > count) best.pop();
  }
  return best;
}
