// Points in a square and the exact answers for them, as in areaviz/data/points.py. Sums are added
// in NumPy's order, so that their last bits are equal.

import { InputError } from './request.js';

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
