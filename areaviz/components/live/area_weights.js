// The weights of areas: softmax, coverage, contexts, and where weights are stored.

/** @typedef {import('./area_grid.js').AreaGrid} AreaGrid */
/**
 * @typedef {object} LayerRecord where a layer's weights are stored
 * @property {Float32Array} weights
 * @property {AreaGrid} grid the areas of the whole memory
 * @property {(head: number, query: number) => number} first index of a query's first weight
 * @property {((head: number, query: number | null, terms: () =>
 *   import('./logit_terms.js').LogitTerms) => void)} [note] is called with the terms of a query's
 *   logits, in place of storing its weights
 */

/**
 * Return the softmax of logits, with weights multiplied by factors before they are normalised. If
 * all factors are 0, all weights are 0.
 * @param {Float64Array} logits changed in place
 * @param {Float32Array | null} factors
 */
export function softmax(logits, factors = null) {
  let largest = -Infinity;
  for (let area = 0; area < logits.length; area += 1) {
    if (logits[area] > largest && !(factors && factors[area] === 0)) largest = logits[area];
  }
  let total = 0;
  for (let area = 0; area < logits.length; area += 1) {
    const factor = factors ? factors[area] : 1;
    logits[area] = factor ? factor * Math.exp(logits[area] - largest) : 0;
    total += logits[area];
  }
  if (total) for (let area = 0; area < logits.length; area += 1) logits[area] /= total;
  return logits;
}

/**
 * Return the coverage [M]: for each item, the sum of the weights of all areas that contain it. Each
 * area adds its weight at its corners, and running sums spread it over its items.
 * @param {Float64Array} weights
 * @param {AreaGrid} grid
 */
export function itemCoverage(weights, grid) {
  const stride = grid.width + 1;
  const changes = new Float64Array((grid.height + 1) * stride);
  let area = 0;
  for (const { height, width, rows, columns } of grid.slabs) {
    for (let top = 0; top < rows; top += 1) {
      const above = top * stride, below = (top + height) * stride;
      for (let left = 0; left < columns; left += 1, area += 1) {
        const weight = weights[area];
        changes[above + left] += weight;
        changes[above + left + width] -= weight;
        changes[below + left] -= weight;
        changes[below + left + width] += weight;
      }
    }
  }
  const covered = new Float64Array(grid.items);
  for (let row = 0, item = 0; row < grid.height; row += 1) {
    let inRow = 0;
    for (let column = 0; column < grid.width; column += 1, item += 1) {
      inRow += changes[row * stride + column];
      covered[item] = inRow + (row ? covered[item - grid.width] : 0);
    }
  }
  return covered;
}

/**
 * Add the values of items times their coverage to one head's part of a context.
 * @param {Float64Array} covered
 * @param {Float32Array[]} values
 * @param {Float32Array} context
 * @param {number} first the head's first channel
 * @param {number} depth
 * @param {number} gate factor on the result
 */
export function addValues(covered, values, context, first, depth, gate) {
  for (let item = 0; item < covered.length; item += 1) {
    const factor = gate * covered[item], value = values[item];
    for (let d = first; d < first + depth; d += 1) context[d] += factor * value[d];
  }
}

/**
 * Store the weights of a query. Areas that the query or the layer does not have keep the weight 0.
 * @param {Float64Array} weights
 * @param {AreaGrid} grid the areas of the weights
 * @param {LayerRecord} record
 * @param {number} first index of the query's first weight
 */
export function store(weights, grid, record, first) {
  let area = 0;
  for (const { height, width, rows, columns } of grid.slabs) {
    const slab = record.grid.slab(height, width);
    for (let top = 0; top < rows; top += 1) {
      const to = first + slab.first + top * slab.columns;
      for (let left = 0; left < columns; left += 1, area += 1) record.weights[to + left] = weights[area];
    }
  }
}
