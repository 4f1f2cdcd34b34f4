// Points in a square and the exact answers for them, as in areaviz/samples/reasoning.py. Sums are
// added in NumPy's order, so that their last bits are equal.

import { Changes, readChanges } from './interventions.js';
import { dot, joined, linear, linearOf, rowsOf, tanhOf } from './linear.js';
import { search } from './beam.js';
import { sequenceGrid } from './attention.js';
import { logSoftmax } from './transformer.js';
import { Recording, alternativesOf, roundHalfToEven } from './recording.js';
import { cellOf, runCell } from './recurrent.js';
import { InputError, checkedRequest } from './request.js';
import { Weights } from './weights.js';

/** @typedef {[number, number]} Point */

export const EXTENT = 1000, MOST_POINTS = 12, FEWEST_POINTS = 3;
const LEAST_DISTANCE = 1e-9;

/**
 * Read points such as "120,300 400,80", or throw an InputError if they have no answer.
 * @param {string} text
 * @param {string} kind "hull" or "tour"
 * @returns {Point[]}
 */
export function readPoints(text, kind) {
  const points = text.split(/\s+/).filter(Boolean).map(readPoint), count = points.length;
  if (count > MOST_POINTS) {
    throw new InputError(`There are ${count} points, but the limit is ${MOST_POINTS}. Remove`
      + ` ${count - MOST_POINTS}.`);
  }
  if (count < FEWEST_POINTS) {
    throw new InputError(`There ${count === 1 ? 'is 1 point' : `are ${count} points`}, but at least`
      + ` ${FEWEST_POINTS} are needed. Add more.`);
  }
  points.forEach(([x, y], number) => {
    const first = points.findIndex((one) => one[0] === x && one[1] === y);
    if (first < number) {
      throw new InputError(`Points ${first + 1} and ${number + 1} are at the same place. Move or remove`
        + ' one of them.');
    }
  });
  if (kind === 'hull' && convexHull(points).length < FEWEST_POINTS) {
    throw new InputError('All points are on one line, which has no hull. Move one of them.');
  }
  return points;
}

/**
 * @param {string} part
 * @returns {Point}
 */
function readPoint(part) {
  const found = /^(\d{1,4}),(\d{1,4})$/.exec(part);
  if (!found || Math.max(+found[1], +found[2]) > EXTENT) {
    throw new InputError(`"${part}" is not a point. Write each as x,y with whole numbers from 0 to 1,000`
      + ' and a space between two points, for example: 120,300 400,80.');
  }
  return [+found[1], +found[2]];
}

/** @param {Point[]} points */
function centred(points) {
  const mean = [0, 1].map((axis) => points.reduce((sum, point) => sum + point[axis], 0) / points.length);
  return points.map(([x, y]) => /** @type {Point} */ ([x - mean[0], y - mean[1]]));
}

/**
 * Return the points ordered counter-clockwise around their mean, from the leftmost one.
 * @param {Point[]} points
 */
export function readingOrder(points) {
  const angles = centred(points).map(([x, y]) => Math.atan2(y, x)), first = fromTheLeft(points)[0];
  const full = 2 * Math.PI;
  const turned = angles.map((angle, number) => {
    const turn = (angle - angles[first]) % full;
    return number === first ? -1 : turn + (turn < 0 ? full : 0);
  });
  return points.map((_, number) => number).sort((one, other) => turned[one] - turned[other]);
}

/**
 * Return points relative to their mean, scaled so that the farthest is at distance 1.
 * @param {Point[]} points
 */
export function normalisedPoints(points) {
  const around = centred(points);
  const farthest = Math.max(...around.map(([x, y]) => Math.sqrt(x * x + y * y)), LEAST_DISTANCE);
  return around.map(([x, y]) => Float32Array.of(x / farthest, y / farthest));
}

/**
 * Return the numbers of points from left to right, and from bottom to top if they are above each
 * other.
 * @param {Point[]} points
 */
function fromTheLeft(points) {
  return points.map((_, number) => number)
    .sort((one, other) => points[one][0] - points[other][0] || points[one][1] - points[other][1]);
}

/**
 * Return the exact answer, counter-clockwise from the leftmost point.
 * @param {Point[]} points
 * @param {string} kind "hull" or "tour"
 */
export function exactAnswer(points, kind) {
  if (kind === 'hull') return convexHull(points);
  const tour = shortestTour(points), first = tour.indexOf(fromTheLeft(points)[0]);
  const ordered = signedArea(points, tour) >= 0 ? tour : tour.toReversed();
  const start = ordered.indexOf(tour[first]);
  return [...ordered.slice(start), ...ordered.slice(0, start)];
}

/**
 * Return the corners of the convex hull, by a walk along the lower and the upper side (Andrew
 * 1979).
 * @param {Point[]} points
 */
function convexHull(points) {
  const order = fromTheLeft(points);
  const side = (/** @type {number[]} */ numbers) => {
    /** @type {number[]} */
    const found = [];
    for (const number of numbers) {
      while (found.length > 1 && turnOf(points, found.at(-2) ?? 0, found.at(-1) ?? 0, number) <= 0) found.pop();
      found.push(number);
    }
    return found.slice(0, -1);
  };
  return [...side(order), ...side(order.toReversed())];
}

/**
 * Return twice the area of a triangle, positive if its corners run counter-clockwise.
 * @param {Point[]} points
 * @param {number} one
 * @param {number} two
 * @param {number} three
 */
function turnOf(points, one, two, three) {
  const [[a, b], [c, d], [e, f]] = [points[one], points[two], points[three]];
  return (c - a) * (f - b) - (d - b) * (e - a);
}

/**
 * Return a shortest closed tour, by dynamic programming over subsets (Held and Karp 1962).
 * @param {Point[]} points
 */
function shortestTour(points) {
  const others = points.length - 1, subsets = 2 ** others;
  const way = (/** @type {number} */ one, /** @type {number} */ other) => distance(points[one], points[other]);
  const best = new Float32Array(subsets * others).fill(Infinity);
  const before = new Int8Array(subsets * others);
  for (let end = 0; end < others; end += 1) best[2 ** end * others + end] = way(0, end + 1);
  const closest = (/** @type {number} */ subset, /** @type {number} */ to) => {
    let shortest = Infinity, last = 0;
    for (let each = 0; each < others; each += 1) {
      const length = best[subset * others + each] + way(each + 1, to);
      if (length < shortest) [shortest, last] = [length, each];
    }
    return { shortest, last };
  };
  for (let subset = 1; subset < subsets; subset += 1) {
    for (let end = 0; end < others; end += 1) {
      const rest = subset - 2 ** end;
      if (!(subset & 2 ** end) || !rest) continue;
      const { shortest, last } = closest(rest, end + 1);
      best[subset * others + end] = shortest;
      before[subset * others + end] = last;
    }
  }
  const tour = [];
  let { last } = closest(subsets - 1, 0);
  for (let subset = subsets - 1; tour.length < others;) {
    tour.unshift(last + 1);
    const rest = subset - 2 ** last;
    last = before[subset * others + last];
    subset = rest;
  }
  return [0, ...tour];
}

/**
 * @param {Point} one
 * @param {Point} other
 */
function distance([a, b], [c, d]) {
  return Math.sqrt((a - c) * (a - c) + (b - d) * (b - d));
}

/**
 * Return the length of a closed tour.
 * @param {Point[]} points
 * @param {number[]} tour
 */
export function tourLength(points, tour) {
  return pairwiseSum(tour.map((point, place) => distance(points[point], points[tour[(place + 1) % tour.length]])));
}

/**
 * Return the area of a polygon, negative if its corners run clockwise.
 * @param {Point[]} points
 * @param {number[]} corners
 */
export function signedArea(points, corners) {
  return pairwiseSum(corners.map((corner, place) => {
    const [x, y] = points[corner], [next, high] = points[corners[(place + 1) % corners.length]];
    return x * high - y * next;
  })) / 2;
}

/**
 * Return the sum of at most 15 numbers in NumPy's order, which adds eight partial sums.
 * @param {number[]} values
 */
function pairwiseSum(values) {
  if (values.length < 8) return values.reduce((sum, value) => sum + value, 0);
  const [a, b, c, d, e, f, g, h, ...rest] = values;
  return rest.reduce((sum, value) => sum + value, ((a + b) + (c + d)) + ((e + f) + (g + h)));
}

// A pointer network and its model, as in areaviz/models/points.py: the output is the attention to
// the points, u_j = v . tanh(W1 e_j + W2 d_i) (Vinyals et al. 2015, Eq. 3).


/** @typedef {import('./beam.js').OnStep} OnStep */
/** @typedef {import('./recording.js').Field} Field */
/** @typedef {import('./recurrent.js').State} State */
/** @typedef {import('./writing.js').Card} Card */
/** @typedef {import('./writing.js').Trace} Trace */
/** @typedef {{ passed: number[], state: State }} Row a partial answer, in reading order */
/**
 * @typedef {object} ReadPoints a set of points in reading order
 * @property {Float32Array[]} points
 * @property {Float32Array[]} keys
 * @property {State} start the writer's first state
 * @property {(query: number | null) => Float32Array | null} factors the changes of weights at a
 *   step
 */

const POINTER = 'pointer', CORNERS = 3;
/** @type {Record<string, [string, string]>} */
const POINTER_SITES = { [POINTER]: ['target', 'points'] };
const NAMES = { hull: 'convex hull', tour: 'shortest tour' };

/** A pointer network, from points in reading order to a sequence of chosen points. */
class PointerNetwork {
  /**
   * @param {{ kind: 'hull' | 'tour', width: number }} config
   * @param {Weights} weights
   */
  constructor(config, weights) {
    this.kind = config.kind;
    this.readers = [0, '0_reverse'].map((layer) => cellOf(weights, 'reader', layer, 'lstm'));
    this.writer = cellOf(weights, 'writer', 0, 'lstm');
    this.begin = weights.data('begin');
    const part = (/** @type {string} */ name) => linearOf(weights, name);
    this.state = [part('hidden'), part('cell')];
    this.key = part('key');
    this.query = part('query');
    this.score = part('score');
  }

  /**
   * Return the smallest number of points in an answer before it may return to its first point.
   * @param {number} points
   */
  least(points) {
    return this.kind === 'tour' ? points : Math.min(points, CORNERS);
  }

  /**
   * Encode a set of points.
   * @param {Float32Array[]} points
   * @returns {Pick<ReadPoints, 'keys' | 'start'>}
   */
  read(points) {
    const [ahead, back] = this.readers;
    const forwards = runCell(ahead, points), backwards = runCell(back, points.toReversed());
    const ends = [forwards.at(-1) ?? [], backwards.at(-1) ?? []];
    const [hidden, cell] = this.state.map((layer, part) => linear(layer, joined(ends[0][part], ends[1][part])));
    const items = forwards.map(([one], item) => joined(one, backwards[points.length - 1 - item][0]));
    const keys = rowsOf(linear(this.key, joined(...items)), this.key.out);
    return { keys, start: [tanhOf(hidden), cell] };
  }

  /**
   * Return the log-probabilities of the points after a partial answer, and the next state.
   * @param {ReadPoints} read
   * @param {Row} row
   * @param {number | null} step null while the model writes
   */
  point({ points, keys, factors }, { passed, state }, step) {
    const fed = passed.length ? points[passed[passed.length - 1]] : this.begin;
    const next = this.writer.next(linear(this.writer.input, fed), linear(this.writer.hidden, state[0]), state);
    const query = linear(this.query, next[0]);
    const logits = Float32Array.from(keys, (key, point) => (this.bars(passed, point, points.length) ? -Infinity
      : dot(this.score.weight, 0, tanhOf(key.map((part, i) => part + query[i])), 0, query.length)));
    const own = factors(step);
    const weighed = own ? logits.map((logit, point) => logit + Math.log(own[point])) : logits;
    // Ignore changes that ban all remaining points, because one of them has to be chosen.
    const isDead = weighed.every((logit) => logit === -Infinity);
    return { log: logSoftmax(isDead ? logits : weighed), state: next };
  }

  /**
   * Return whether a point must not follow a partial answer. The first point ends the answer.
   * @param {number[]} passed
   * @param {number} point
   * @param {number} points
   */
  bars(passed, point, points) {
    return passed.includes(point) && (point !== passed[0] || passed.length < this.least(points));
  }
}

/**
 * A pointer network as a stepper. The symbol before and after an answer is the number of points.
 */
class PointerStepper {
  /**
   * @param {PointerNetwork} network
   * @param {ReadPoints} read
   */
  constructor(network, read) {
    this.network = network;
    this.given = read;
    /** @type {Row[]} */
    this.rows = [];
  }

  /** @param {number[]} tokens */
  step(tokens) {
    const { points, start } = this.given;
    if (!this.rows.length) this.rows = tokens.map(() => ({ passed: [], state: start }));
    // A finished row gets any point as its input, and its results are ignored.
    else tokens.forEach((token, row) => this.rows[row].passed.push(Math.min(token, points.length - 1)));
    return this.rows.map((row) => {
      const { log, state } = this.network.point(this.given, row, null);
      row.state = state;
      const first = row.passed[0];
      const found = Float32Array.from([...log, first === undefined ? -Infinity : log[first]]);
      if (first !== undefined) found[first] = -Infinity;
      return found;
    });
  }

  /** @param {number[]} rows */
  select(rows) {
    this.rows = rows.map((row) => ({ ...this.rows[row], passed: [...this.rows[row].passed] }));
  }
}

/** A model that chooses points one by one, and records the weights of all points at every step. */
export class PointingModel {
  /**
   * @param {Card} card
   * @param {ArrayBuffer} weights the bytes of model.safetensors
   */
  constructor(card, weights) {
    this.card = card;
    this.network = new PointerNetwork(card.config, new Weights(weights));
  }

  /**
   * Answer a request.
   * @param {Partial<import('./request.js').Request>} given
   * @param {OnStep | null} onStep
   * @returns {Trace}
   */
  trace(given, onStep = null) {
    const request = checkedRequest(this.card.name, given);
    const points = readPoints(request.text, this.network.kind), count = points.length;
    const scaled = points.map(([x, y]) => /** @type {Point} */ ([x / EXTENT, y / EXTENT]));
    const order = readingOrder(scaled), normal = normalisedPoints(scaled);
    const own = new Changes(readChanges(request.changes), POINTER_SITES).at(POINTER, 0), grid = sequenceGrid(count, 1);
    // Changes and given outputs refer to the points in the order of the request.
    const factors = (/** @type {number | null} */ query) => {
      const found = own && own.factors(grid, 0, query);
      return found && Float32Array.from(order, (point) => found[point]);
    };
    const inOrder = order.map((point) => normal[point]);
    const read = { points: inOrder, ...this.network.read(inOrder), factors };
    const places = request.target === null ? this.write(read, request, onStep) : this.given(request.target, order);
    const chosen = places.map((place) => order[place]);
    const fields = { points: pointField(request.text, points), target: numberField(chosen) };
    const network = { layers: 1, heads: 1 };
    const lengths = { points: count, target: chosen.length };
    const { maps } = new Recording(POINTER_SITES, network, () => grid, lengths);
    maps[POINTER].normalisation = 'softmax over points';
    let state = read.start;
    const output = places.map((place, step) => {
      const found = this.network.point(read, { passed: places.slice(0, step), state }, step);
      state = found.state;
      const row = maps[POINTER].weights.subarray(step * count, (step + 1) * count);
      found.log.forEach((log, at) => { row[order[at]] = Math.exp(log); });
      return { probability: row[order[place]], alternatives: alternativesOf(row, (one) => `${one + 1}`) };
    });
    return { request, fields, output, maps, details: this.details(scaled, chosen.slice(0, -1)) };
  }

  /**
   * Return the most probable answer as numbers in reading order. Its first point is repeated at the
   * end.
   * @param {ReadPoints} read
   * @param {import('./request.js').Request} request
   * @param {OnStep | null} onStep
   */
  write(read, { method, beam }, onStep) {
    const end = read.points.length, width = method === 'greedy' ? 1 : beam;
    const options = { start: end, end, limit: end + 1, width, alpha: 0 };
    const { ids } = search(new PointerStepper(this.network, read), options, onStep);
    const passed = ids.filter((place) => place < end);
    return [...passed, passed[0]];
  }

  /**
   * Return the numbers of a given answer, such as "2 5 1 2", in reading order.
   * @param {string} target
   * @param {number[]} order
   */
  given(target, order) {
    const numbers = target.split(/\s+/).filter(Boolean).map((part) => (/^\d+$/.test(part) ? +part : 0));
    const inner = numbers.slice(0, -1), count = order.length;
    const isAnswer = inner.length >= this.network.least(count) && numbers.at(-1) === inner[0];
    if (!isAnswer || new Set(inner).size < inner.length || inner.some((one) => one < 1 || one > count)) {
      throw new InputError(`The given output is not a ${NAMES[this.network.kind]} of these points. Give each of`
        + ' its points once and end with the first, for example: 1 2 3 1.');
    }
    return numbers.map((number) => order.indexOf(number - 1));
  }

  /**
   * Compare an answer with the exact one. Lengths and areas are in the units of the points.
   * @param {Point[]} points
   * @param {number[]} chosen
   */
  details(points, chosen) {
    const { kind } = this.network, right = exactAnswer(points, kind);
    const named = (/** @type {number[]} */ numbers) => numbers.map((one) => one + 1).join(' ');
    /** @type {Record<string, string>} */
    const found = { device: 'browser', kind, answer: named(chosen), exact: named(right) };
    const length = (/** @type {number[]} */ tour) => `${roundHalfToEven(tourLength(points, tour) * EXTENT)}`;
    const area = (/** @type {number[]} */ hull) => (
      `${roundHalfToEven(Math.abs(signedArea(points, hull)) * EXTENT ** 2)}`);
    if (kind === 'tour') Object.assign(found, { length: length(chosen), shortest: length(right) });
    else Object.assign(found, { area: area(chosen), 'exact area': area(right) });
    const { trainedLength } = this.card;
    if (points.length > trainedLength) {
      found.warning = `More points than in any set this model was trained on (${trainedLength}).`;
    }
    return found;
  }
}

/**
 * @param {string} raw
 * @param {Point[]} anchors
 * @returns {Field}
 */
function pointField(raw, anchors) {
  return { name: 'points', kind: 'points', raw, labels: anchors.map((_, number) => `${number + 1}`), anchors };
}

/**
 * Return an answer as a text: the numbers of the points.
 * @param {number[]} chosen
 * @returns {Field}
 */
function numberField(chosen) {
  const labels = chosen.map((one) => `${one + 1}`);
  let start = 0;
  const anchors = labels.map(({ length }) => {
    start += length + 1;
    return [start - length - 1, start - 1];
  });
  return { name: 'target', kind: 'text', raw: labels.join(' '), labels, anchors };
}
