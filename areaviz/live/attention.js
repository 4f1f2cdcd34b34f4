// The areas of a memory and their order, as in areaviz/trace/areas.py: size-major (for every
// height, for every width), then row by row over the top-left corner.
import { dot, joined, linear, linearOf, rowsOf } from './linear.js';
import { summedTable } from './map_algebra.js';

/** @typedef {{ top: number, left: number, height: number, width: number }} Area */
/** @typedef {{ height: number, width: number, first: number, rows: number, columns: number }} Slab */

/** All areas of a `height` x `width` memory up to `maxHeight` x `maxWidth` items. */
export class AreaGrid {
  /**
   * @param {number} height rows of the memory, 1 for a sequence
   * @param {number} width items of a row
   * @param {number} maxHeight rows of the largest area
   * @param {number} maxWidth columns of the largest area
   */
  constructor(height, width, maxHeight, maxWidth) {
    this.height = height;
    this.width = width;
    this.maxHeight = Math.min(maxHeight, height);
    this.maxWidth = Math.min(maxWidth, width);
    /** @type {Slab[]} */
    this.slabs = [];
    let count = 0;
    for (let tall = 1; tall <= this.maxHeight; tall += 1) {
      for (let wide = 1; wide <= this.maxWidth; wide += 1) {
        const rows = height - tall + 1, columns = width - wide + 1;
        this.slabs.push({ height: tall, width: wide, first: count, rows, columns });
        count += rows * columns;
      }
    }
    /** The number of areas. */
    this.count = count;
    /** The number of items of the memory. */
    this.items = height * width;
  }

  /**
   * Return the areas of one shape: the index of the first one, and the rows and columns of corners.
   * @param {number} height
   * @param {number} width
   */
  slab(height, width) {
    return this.slabs[(height - 1) * this.maxWidth + width - 1];
  }

  /**
   * Return the place of an area in the order.
   * @param {Area} area
   */
  index({ top, left, height, width }) {
    const { first, columns } = this.slab(height, width);
    return first + top * columns + left;
  }

  /**
   * Return all areas in their order.
   * @returns {Area[]}
   */
  areas() {
    const found = [];
    for (const { height, width, rows, columns } of this.slabs) {
      for (let top = 0; top < rows; top += 1) {
        for (let left = 0; left < columns; left += 1) found.push({ top, left, height, width });
      }
    }
    return found;
  }
}

/**
 * Return the areas of a sequence.
 * @param {number} items
 * @param {number} most items of the largest area
 */
export function sequenceGrid(items, most) {
  return new AreaGrid(1, items, 1, most);
}

// The weights of areas: softmax, coverage, contexts, and where weights are stored.

/**
 * @typedef {object} LayerRecord where a layer's weights are stored
 * @property {Float32Array} weights
 * @property {AreaGrid} grid the areas of the whole memory
 * @property {(head: number, query: number) => number} first index of a query's first weight
 * @property {((head: number, query: number | null, terms: () =>
 *   import('./payloads.js').LogitTerms) => void)} [note] is called with the terms of a query's
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

// Multi-head attention to the areas of a memory (Li et al. 2019), as in
// areaviz/attention/multihead.py. With mean and boundary keys the logit of an area is a sum of
// terms of its items and its shape, and its output is a sum of item values. No area needs a key or
// a value.


/** @typedef {import('./weights.js').Weights} Weights */
/** @typedef {import('./interventions.js').LayerChanges} LayerChanges */
/** @typedef {import('./payloads.js').LogitTerms} LogitTerms */
/** @typedef {[number, number]} Shape rows and columns */
/**
 * @typedef {object} AreaOptions
 * @property {number} heads
 * @property {number} most items of the largest area, or its rows and columns on a grid
 * @property {string} keyMode "mean" or "boundary"
 * @property {Shape | null} shape rows and columns of the memory; null for a sequence
 */

/** The keys and values of the items of a memory, one row per item. */
export class AreaMemory {
  /**
   * @param {Float32Array[]} key
   * @param {Float32Array[]} first keys of items as the first of an area; `key` without boundary
   *   keys
   * @param {Float32Array[]} last keys of items as the last of an area
   * @param {Float32Array[]} value
   */
  constructor(key = [], first = [], last = [], value = []) {
    this.key = key;
    this.first = first;
    this.last = last;
    this.value = value;
  }

  /** The number of items. */
  get count() {
    return this.key.length;
  }

  /**
   * Return this memory with one more item, which is row `row` of another memory.
   * @param {AreaMemory} other
   * @param {number} row
   */
  with(other, row) {
    const more = (/** @type {'key' | 'first' | 'last' | 'value'} */ part) => [...this[part], other[part][row]];
    return new AreaMemory(more('key'), more('first'), more('last'), more('value'));
  }
}

/** Projections, area attention for every head, and the output. */
export class MultiHeadAttention {
  /**
   * @param {Weights} weights
   * @param {string} name
   * @param {AreaOptions} options
   */
  constructor(weights, name, { heads, most, keyMode, shape }) {
    this.heads = heads;
    this.most = most;
    this.shape = shape;
    this.query = linearOf(weights, `${name}.query`);
    this.key = linearOf(weights, `${name}.key`);
    this.value = linearOf(weights, `${name}.value`);
    this.out = linearOf(weights, `${name}.out`);
    this.width = this.key.out;
    this.depth = this.width / heads;
    /** @type {BoundaryKeys | null} */
    this.boundary = keyMode === 'boundary' ? new BoundaryKeys(weights, `${name}.features`) : null;
  }

  /**
   * Return the keys and values of the items of a memory [M, W].
   * @param {Float32Array} items
   */
  remember(items) {
    const key = linear(this.key, items);
    const rows = rowsOf(key, this.width);
    const values = rowsOf(linear(this.value, items), this.width);
    if (!this.boundary) return new AreaMemory(rows, rows, rows, values);
    // The heads of an item are next to each other, so the keys of all heads are the rows of a
    // matrix.
    const first = rowsOf(linear(this.boundary.start, key), this.width);
    const last = rowsOf(linear(this.boundary.end, key), this.width);
    return new AreaMemory(rows, first, last, values);
  }

  /**
   * Return the areas of a memory.
   * @param {number} items
   */
  grid(items) {
    if (!this.shape) return sequenceGrid(items, this.most);
    return new AreaGrid(this.shape[0], this.shape[1], this.most, this.most);
  }

  /**
   * Return the contexts of all queries [Q, W] to one memory.
   * @param {Float32Array} x the queries
   * @param {AreaMemory} memory
   * @param {{ isCausal?: boolean, changes?: LayerChanges | null, record?: LayerRecord | null }}
   *   options
   */
  attend(x, memory, { isCausal = false, changes = null, record = null } = {}) {
    const whole = this.grid(memory.count);
    return linear(this.out, joined(...rowsOf(linear(this.query, x), this.width).map((row, query) => {
      const grid = isCausal ? this.grid(query + 1) : whole;
      return this.look(row, memory, grid, { changes, record, query });
    })));
  }

  /**
   * Return the contexts of rows [N, W] that are decoded together, each with a memory of its own.
   * @param {Float32Array} x
   * @param {AreaMemory[]} memories
   * @param {LayerChanges | null} changes
   * @param {{ record: LayerRecord | null, query: number | null }} place where the weights of a
   *   single row are stored
   */
  step(x, memories, changes = null, place = { record: null, query: null }) {
    // Rows are decoded together, so their memories have equally many items.
    const grid = this.grid(memories[0].count);
    return linear(this.out, joined(...rowsOf(linear(this.query, x), this.width).map((row, number) => (
      this.look(row, memories[number], grid, { changes, ...place })))));
  }

  /**
   * Return the context [W] of one query, and record its weights.
   * @param {Float32Array} query [W]
   * @param {AreaMemory} memory
   * @param {AreaGrid} grid the areas that the query may attend to
   * @param {{ changes: LayerChanges | null, record: LayerRecord | null, query: number | null }}
   *   options
   */
  look(query, memory, grid, { changes, record, query: number }) {
    const context = new Float32Array(this.width);
    for (let head = 0; head < this.heads; head += 1) {
      const factors = changes && changes.factors(grid, head, number);
      const terms = this.terms(query, head, memory, grid, factors);
      const weights = softmax(logitsOf(terms), factors);
      if (record?.note) record.note(head, number, () => terms);
      else if (record) store(weights, grid, record, record.first(head, number ?? 0));
      const gate = changes ? changes.gate(head) : 1;
      const first = head * this.depth;
      addValues(itemCoverage(weights, grid), memory.value, context, first, this.depth, gate);
    }
    return context;
  }

  /**
   * Return the terms of the logits of one head's query.
   * @param {Float32Array} query
   * @param {number} head
   * @param {AreaMemory} memory
   * @param {AreaGrid} grid
   * @param {Float32Array | null} factors
   * @returns {LogitTerms}
   */
  terms(query, head, memory, grid, factors) {
    const { depth, boundary } = this, from = head * depth, scale = 1 / Math.sqrt(depth);
    const against = (/** @type {Float32Array[]} */ keys) => {
      const found = new Float64Array(grid.items);
      for (let item = 0; item < grid.items; item += 1) found[item] = scale * dot(query, from, keys[item], from, depth);
      return found;
    };
    return {
      grid,
      factors,
      item: against(memory.key),
      start: boundary && against(memory.first),
      end: boundary && against(memory.last),
      shape: boundary && ((height, width) => scale * boundary.shapeTerm(query, from, depth, height, width)),
    };
  }
}

/**
 * Return the logits of all areas. A logit is the mean of the terms of the area's items, plus the
 * terms of its first item, its last item and its shape.
 * @param {LogitTerms} terms
 */
function logitsOf({ grid, item, start, end, shape }) {
  const sums = summedTable(item, grid), logits = new Float64Array(grid.count), stride = grid.width + 1;
  let area = 0;
  for (const { height, width, rows, columns } of grid.slabs) {
    const own = shape ? shape(height, width) : 0, size = height * width;
    for (let top = 0; top < rows; top += 1) {
      const above = top * stride, below = (top + height) * stride;
      const corner = top * grid.width, last = (top + height - 1) * grid.width + width - 1;
      for (let left = 0; left < columns; left += 1, area += 1) {
        const right = left + width;
        const sum = sums[below + right] - sums[above + right] - sums[below + left] + sums[above + left];
        const edges = start && end ? start[corner + left] + end[last + left] : 0;
        logits[area] = sum / size + edges + own;
      }
    }
  }
  return logits;
}

/** The parameters of boundary keys, see areaviz/attention/keys.py. */
class BoundaryKeys {
  /**
   * @param {Weights} weights
   * @param {string} name
   */
  constructor(weights, name) {
    this.start = linearOf(weights, `${name}.start`);
    this.end = linearOf(weights, `${name}.end`);
    const heights = weights.get(`${name}.height_embedding.weight`);
    const widths = weights.get(`${name}.width_embedding.weight`);
    const half = heights.shape[1];
    this.widest = widths.shape[0];
    const embedded = new Float32Array(heights.shape[0] * this.widest * 2 * half);
    for (let shape = 0; shape * 2 * half < embedded.length; shape += 1) {
      const height = Math.floor(shape / this.widest), width = shape % this.widest;
      embedded.set(heights.data.subarray(height * half, (height + 1) * half), shape * 2 * half);
      embedded.set(widths.data.subarray(width * half, (width + 1) * half), shape * 2 * half + half);
    }
    this.shapes = linear(linearOf(weights, `${name}.shape`), embedded);
  }

  /**
   * Return q . e(h, w), the term of an area's shape.
   * @param {Float32Array} query
   * @param {number} from the head's first channel
   * @param {number} depth
   * @param {number} height
   * @param {number} width
   */
  shapeTerm(query, from, depth, height, width) {
    const shape = (height - 1) * this.widest + width - 1;
    return dot(query, from, this.shapes, shape * depth, depth);
  }
}
