// The window of a spatial transformer (survey Eq. 26-32). Theta is [a, b, c, d, e, f], a matrix of
// two rows. It maps a place of the output to a place of the input. Both are (x, y), from -1 to 1 at
// the outer edges.

/** @typedef {{ height: number, width: number, rgb: ArrayLike<number> }} Pixels red, green and blue, row by row */

/**
 * The place of the input from which a place of the output is read.
 * @param {number[]} theta
 * @param {number[]} place
 */
export function mapped([a, b, c, d, e, f], [x, y]) {
  return [a * x + b * y + c, d * x + e * y + f];
}

/**
 * The place of the middle of an output pixel.
 * @param {number} row
 * @param {number} column
 * @param {number} side of the output, in pixels
 */
export function placeOf(row, column, side) {
  return [(2 * column + 1) / side - 1, (2 * row + 1) / side - 1];
}

/**
 * Bilinear interpolation of the four pixels around a place of the input (Eq. 32). Pixels outside of
 * the picture are 0.
 * @param {Pixels} picture
 * @param {number[]} place
 */
export function mixedAt({ height, width, rgb }, [x, y]) {
  const [across, down] = [((x + 1) * width - 1) / 2, ((y + 1) * height - 1) / 2];
  const [left, top] = [Math.floor(across), Math.floor(down)];
  const sum = [0, 0, 0];
  for (let row = top; row <= top + 1; row += 1) {
    for (let column = left; column <= left + 1; column += 1) {
      if (row < 0 || row >= height || column < 0 || column >= width) continue;
      const weight = (1 - Math.abs(across - column)) * (1 - Math.abs(down - row));
      for (let channel = 0; channel < 3; channel += 1) sum[channel] += weight * rgb[3 * (row * width + column) + channel];
    }
  }
  return sum;
}

/**
 * The output: red, green and blue of every pixel, row by row.
 * @param {Pixels} picture
 * @param {number[]} theta
 * @param {number} side
 */
export function warpedPixels(picture, theta, side) {
  const found = /** @type {number[][]} */ ([]);
  for (let row = 0; row < side; row += 1) {
    for (let column = 0; column < side; column += 1) found.push(mixedAt(picture, mapped(theta, placeOf(row, column, side))));
  }
  return found;
}

// The arithmetic of the lessons in double precision, as in areaviz/learn/arithmetic.py. A test
// compares the two.

/** @typedef {[number, number, number, number]} AreaOf top, left, height and width */

/**
 * All areas of a grid, in the order in which models count them: by height, then by width, then row
 * by row.
 * @param {number} rows
 * @param {number} columns
 * @param {number} tallest
 * @param {number} widest
 */
export function allAreas(rows, columns, tallest, widest) {
  const found = /** @type {AreaOf[]} */ ([]);
  for (let height = 1; height <= Math.min(tallest, rows); height += 1) {
    for (let width = 1; width <= Math.min(widest, columns); width += 1) {
      for (let top = 0; top + height <= rows; top += 1) {
        for (let left = 0; left + width <= columns; left += 1) found.push([top, left, height, width]);
      }
    }
  }
  return found;
}

/**
 * The number of runs of at most `longest` in `length` items.
 * @param {number} length
 * @param {number} longest
 */
export function runCount(length, longest) {
  const most = Math.min(length, longest);
  return (length - most) * most + (most * (most + 1)) / 2;
}

/**
 * The vectors of an area, row by row.
 * @param {number[][][]} memory rows of items, each a vector
 * @param {AreaOf} area
 */
export function vectorsOf(memory, [top, left, height, width]) {
  return memory.slice(top, top + height).flatMap((row) => row.slice(left, left + width));
}

/** @param {number[][]} vectors */
export function sumOf(vectors) {
  return vectors[0].map((_, feature) => vectors.reduce((sum, vector) => sum + vector[feature], 0));
}

/** @param {number[][]} vectors */
export function meanOf(vectors) {
  return sumOf(vectors).map((sum) => sum / vectors.length);
}

/**
 * The standard deviation of every number of some vectors (Eq. 5, Li et al. 2019).
 * @param {number[][]} vectors
 */
export function deviationOf(vectors) {
  const mean = meanOf(vectors);
  return mean.map((middle, feature) => Math.sqrt(vectors.reduce((sum, vector) => sum + (vector[feature] - middle) ** 2, 0) / vectors.length));
}

/**
 * @param {number[]} one
 * @param {number[]} other
 */
export function dot(one, other) {
  return one.reduce((sum, number, place) => sum + number * other[place], 0);
}

/**
 * A row vector times a matrix.
 * @param {number[]} vector
 * @param {number[][]} matrix
 */
export function timesMatrix(vector, matrix) {
  return matrix[0].map((_, column) => vector.reduce((sum, number, row) => sum + number * matrix[row][column], 0));
}

/** @param {number[]} logits */
export function softmaxOf(logits) {
  const most = Math.max(...logits);
  const raised = logits.map((logit) => Math.exp(logit - most));
  const total = raised.reduce((sum, number) => sum + number, 0);
  return raised.map((number) => number / total);
}

/**
 * Attention to all spans: logits by mean keys, values by sums (Eq. 1 to 4).
 * @param {number[]} query
 * @param {number[][]} keys
 * @param {number[][]} values
 * @param {number} longest
 */
export function attendSpans(query, keys, values, longest) {
  const areas = allAreas(1, keys.length, 1, longest);
  const logits = areas.map((area) => dot(query, meanOf(vectorsOf([keys], area))));
  const weights = softmaxOf(logits);
  const shares = keys.map(() => 0);
  areas.forEach(([, left, , width], number) => {
    for (let item = left; item < left + width; item += 1) shares[item] += weights[number];
  });
  return { areas, logits, weights, shares, output: sumOf(values.map((value, item) => value.map((number) => number * shares[item]))) };
}

/**
 * The weights of spans. A span's logit is the mean of its items' logits plus the span's own terms.
 * @param {number[]} logits of the items
 * @param {number} longest
 * @param {{ bias: number, start: number, end: number, begins: number, ends: number }} own `bias` is
 *   added for every item after the first, `start` to spans that begin with item `begins`, and `end`
 *   to spans that end with item `ends`
 */
export function attendBoundaries(logits, longest, { bias, start, end, begins, ends }) {
  const areas = allAreas(1, logits.length, 1, longest);
  const totals = areas.map(([, left, , width]) => {
    const mean = logits.slice(left, left + width).reduce((sum, logit) => sum + logit, 0) / width;
    return mean + bias * (width - 1) + (left === begins ? start : 0) + (left + width - 1 === ends ? end : 0);
  });
  return { areas, logits: totals, weights: softmaxOf(totals) };
}

/**
 * The key of an area by mean, deviation and shape (Eq. 5 to 9).
 * @param {number[][][]} memory
 * @param {AreaOf} area
 * @param {{ heights: number[][], widths: number[][], mean: number[][], deviation: number[][],
 *   shape: number[][], out: number[][] }} learned
 */
export function keyOfArea(memory, area, learned) {
  const vectors = vectorsOf(memory, area);
  const [mean, deviation] = [meanOf(vectors), deviationOf(vectors)];
  const shape = [...learned.heights[area[2] - 1], ...learned.widths[area[3] - 1]];
  const hidden = sumOf([timesMatrix(mean, learned.mean), timesMatrix(deviation, learned.deviation), timesMatrix(shape, learned.shape)]);
  const active = hidden.map((number) => Math.max(number, 0));
  return { mean, deviation, shape, hidden, active, key: timesMatrix(active, learned.out) };
}

/**
 * Operations of one head if every item is a query: for regular attention, with every area built,
 * and with no area built. Also the additions that build all areas, per number of the items'
 * vectors.
 * @param {number} items
 * @param {number} longest
 * @param {number} depth numbers in a key
 */
export function operationsOf(items, longest, depth) {
  const areas = runCount(items, longest);
  const regular = items * items * 4 * depth;
  const built = items * areas * 4 * depth;
  return { areas, regular, built, factored: regular + items * 2 * areas, recurrence: areas - items, table: items - 1 + 3 * areas };
}

/**
 * The table of sums with zeros above and to the left.
 * @param {number[][]} memory
 */
export function tableOf(memory) {
  const table = [memory[0].map(() => 0).concat(0)];
  memory.forEach((row, number) => {
    let along = 0;
    table.push([0, ...row.map((value, column) => { along += value; return table[number][column + 1] + along; })]);
  });
  return table;
}

/**
 * The entries of the table round an area: lower right, upper left, lower left, upper right.
 * @param {number[][]} table
 * @param {AreaOf} area
 */
export function cornersOf(table, [top, left, height, width]) {
  const [bottom, right] = [top + height, left + width];
  return [table[bottom][right], table[top][left], table[bottom][left], table[top][right]];
}

/**
 * A hard choice among items: their probabilities, the expected reward, its gradient, and the best
 * baseline (survey Eq. 43, 44).
 * @param {number[]} scores
 * @param {number[]} rewards
 */
export function choiceOf(scores, rewards) {
  const weights = softmaxOf(scores);
  const expected = dot(weights, rewards);
  const gradient = weights.map((weight, item) => weight * (rewards[item] - expected));
  const slopes = weights.map((_, item) => weights.map((weight, score) => Number(item === score) - weight));
  const pulls = weights.map((weight, item) => weight * dot(slopes[item], slopes[item]));
  return { weights, rewards, expected, gradient, slopes, pulls, best: dot(pulls, rewards) / pulls.reduce((sum, pull) => sum + pull, 0) };
}

/**
 * The exact variance of an estimate of `samples` draws, summed over the scores.
 * @param {ReturnType<typeof choiceOf>} choice
 * @param {number} samples
 * @param {number} baseline
 */
export function varianceOf({ pulls, rewards, gradient }, samples, baseline) {
  return (dot(pulls, rewards.map((reward) => (reward - baseline) ** 2)) - dot(gradient, gradient)) / samples;
}

/**
 * An estimate of the gradient from draws, which are numbers from 0 to 1 (survey Eq. 48).
 * @param {ReturnType<typeof choiceOf>} choice
 * @param {number[]} draws
 * @param {number} baseline
 */
export function estimateOf({ weights, rewards, slopes }, draws, baseline) {
  const sum = weights.map(() => 0);
  for (const draw of draws) {
    let [item, below] = [0, weights[0]];
    while (draw >= below && item < weights.length - 1) { item += 1; below += weights[item]; }
    slopes[item].forEach((slope, score) => { sum[score] += ((rewards[item] - baseline) * slope) / draws.length; });
  }
  return sum;
}
