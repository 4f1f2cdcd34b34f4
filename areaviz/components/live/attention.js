// Multi-head attention to the areas of a memory (Li et al. 2019), as in
// areaviz/attention/multihead.py. With mean and boundary keys the logit of an area is a sum of terms
// of its items and its shape, and its output is a sum of item values. No area needs a key or a value.

import { AreaGrid, sequenceGrid } from './area_grid.js';
import { addValues, itemCoverage, softmax, store } from './area_weights.js';
import { dot, linear, linearOf, rowsOf } from './linear.js';

/** @typedef {import('./weights.js').Weights} Weights */
/** @typedef {import('./interventions.js').LayerChanges} LayerChanges */
/** @typedef {import('./area_weights.js').LayerRecord} LayerRecord */
/** @typedef {[number, number]} Shape rows and columns */
/**
 * @typedef {object} AreaOptions
 * @property {number} heads
 * @property {number} most items of the largest area, or its rows and columns on a grid
 * @property {string} keyMode "mean" or "boundary"
 * @property {Shape | null} shape rows and columns of the memory; null for a sequence
 */

/** The keys and values of the items of a memory, one row an item. */
export class AreaMemory {
  /**
   * @param {Float32Array[]} key
   * @param {Float32Array[]} first keys of items as the first of an area; `key` without boundary keys
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
    return new AreaMemory(
      [...this.key, other.key[row]],
      [...this.first, other.first[row]],
      [...this.last, other.last[row]],
      [...this.value, other.value[row]],
    );
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
    // The heads of an item are next to each other, so the keys of all heads are the rows of a matrix.
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
   * @param {{ isCausal?: boolean, changes?: LayerChanges | null, record?: LayerRecord | null }} options
   */
  attend(x, memory, { isCausal = false, changes = null, record = null } = {}) {
    const queries = linear(this.query, x);
    const contexts = new Float32Array(queries.length);
    const whole = this.grid(memory.count);
    for (let query = 0; query * this.width < queries.length; query += 1) {
      const grid = isCausal ? this.grid(query + 1) : whole;
      const row = queries.subarray(query * this.width, (query + 1) * this.width);
      const context = contexts.subarray(query * this.width, (query + 1) * this.width);
      this.look(row, memory, grid, context, { changes, record, query });
    }
    return linear(this.out, contexts);
  }

  /**
   * Return the contexts of rows [N, W] that are decoded together, each with a memory of its own.
   * @param {Float32Array} x
   * @param {AreaMemory[]} memories
   * @param {LayerChanges | null} changes
   */
  step(x, memories, changes = null) {
    const queries = linear(this.query, x);
    const contexts = new Float32Array(queries.length);
    const grids = new Map(memories.map(({ count }) => [count, this.grid(count)]));
    memories.forEach((memory, n) => {
      const grid = /** @type {AreaGrid} */ (grids.get(memory.count));
      const row = queries.subarray(n * this.width, (n + 1) * this.width);
      const context = contexts.subarray(n * this.width, (n + 1) * this.width);
      this.look(row, memory, grid, context, { changes, record: null, query: null });
    });
    return linear(this.out, contexts);
  }

  /**
   * Compute the context of one query, head by head, and record its weights.
   * @param {Float32Array} query [W]
   * @param {AreaMemory} memory
   * @param {AreaGrid} grid the areas that the query may attend to
   * @param {Float32Array} context [W], receives the result
   * @param {{ changes: LayerChanges | null, record: LayerRecord | null, query: number | null }} options
   */
  look(query, memory, grid, context, { changes, record, query: number }) {
    for (let head = 0; head < this.heads; head += 1) {
      const logits = this.logits(query, head, memory, grid);
      const factors = changes && changes.factors(grid, head, number);
      const weights = softmax(logits, factors);
      if (record?.note) record.note(head, number, () => this.scores(query, head, memory, grid, factors));
      else if (record) store(weights, grid, record, record.first(head, number ?? 0));
      const gate = changes ? changes.gate(head) : 1;
      const first = head * this.depth;
      addValues(itemCoverage(weights, grid), memory.value, context, first, this.depth, gate);
    }
  }

  /**
   * Return the logits of all areas for one head of a query.
   * @param {Float32Array} query
   * @param {number} head
   * @param {AreaMemory} memory
   * @param {AreaGrid} grid
   */
  logits(query, head, memory, grid) {
    const { depth, boundary } = this;
    const from = head * depth;
    const scale = 1 / Math.sqrt(depth);
    const { sums, first, last } = this.terms(query, from, memory, grid);
    const logits = new Float64Array(grid.count);
    const stride = grid.width + 1;
    let area = 0;
    for (const { height, width, rows, columns } of grid.slabs) {
      const shape = boundary ? boundary.shapeTerm(query, from, depth, height, width) : 0;
      for (let top = 0; top < rows; top += 1) {
        const above = top * stride, below = (top + height) * stride;
        const corner = top * grid.width, end = (top + height - 1) * grid.width + width - 1;
        for (let left = 0; left < columns; left += 1, area += 1) {
          const right = left + width;
          const sum = sums[below + right] - sums[above + right] - sums[below + left] + sums[above + left];
          const edges = first && last ? first[corner + left] + last[end + left] : 0;
          logits[area] = (sum / (height * width) + edges + shape) * scale;
        }
      }
    }
    return logits;
  }

  /**
   * Return what explains the weights of one head's query, see `LogitTerms`.
   * @param {Float32Array} query
   * @param {number} head
   * @param {AreaMemory} memory
   * @param {AreaGrid} grid
   * @param {Float32Array | null} factors
   * @returns {import('./logit_terms.js').LogitTerms}
   */
  scores(query, head, memory, grid, factors) {
    const { depth, boundary } = this;
    const from = head * depth, scale = 1 / Math.sqrt(depth);
    const { first, last } = this.terms(query, from, memory, grid);
    const scaled = (/** @type {Float64Array | null} */ values) => values && values.map((one) => one * scale);
    const item = Float64Array.from({ length: grid.items }, (_, one) => dot(query, from, memory.key[one], from, depth));
    const shape = boundary && ((/** @type {number} */ height, /** @type {number} */ width) => (
      scale * boundary.shapeTerm(query, from, depth, height, width)));
    return { grid, factors, item: item.map((one) => one * scale), start: scaled(first), end: scaled(last), shape };
  }

  /**
   * Return what the logits are made of: running sums of q . k over the memory, and the terms of every
   * item as the first and the last of an area.
   * @param {Float32Array} query
   * @param {number} from the head's first channel
   * @param {AreaMemory} memory
   * @param {AreaGrid} grid
   */
  terms(query, from, memory, grid) {
    const { depth } = this;
    const stride = grid.width + 1;
    const sums = new Float64Array((grid.height + 1) * stride);
    for (let item = 0, row = 0; row < grid.height; row += 1) {
      let inRow = 0;
      for (let column = 1; column < stride; column += 1, item += 1) {
        inRow += dot(query, from, memory.key[item], from, depth);
        sums[(row + 1) * stride + column] = sums[row * stride + column] + inRow;
      }
    }
    if (!this.boundary) return { sums, first: null, last: null };
    const first = new Float64Array(grid.items), last = new Float64Array(grid.items);
    for (let item = 0; item < grid.items; item += 1) {
      first[item] = dot(query, from, memory.first[item], from, depth);
      last[item] = dot(query, from, memory.last[item], from, depth);
    }
    return { sums, first, last };
  }
}

/** The parameters of boundary keys, see areaviz/attention/boundary.py. */
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
