// Attention to the cells of a picture, and the areas that are highlighted on hover. The layout of
// the message is that of `make_grid_payload` in areaviz/interactive/grid.py.

class GridData {
  constructor(message) {
    const { header, arrays } = message;
    Object.assign(this, { header, arrays, heads: header.heads, keep: header.keep });
    [this.rows, this.columns] = header.grid;
    this.cells = this.rows * this.columns;
    this.hasSeveral = 'several' in header.keep;
    this.text = header.text && new Items(header.text, arrays.start, arrays.end, arrays.word);
    this.queries = this.text ? this.text.count : this.cells;
    this.grid = new AreaGrid(header.grid);
    this.shares = this.unpacked(arrays.share);
    this.readings = new Readings(message, this.queries, this.text);
  }

  /** The share of every cell [H, Q, N]. Rows sum to 1, or to 0 if all cells are masked. */
  unpacked(stored) {
    const shares = new Float32Array(stored.length);
    for (let row = 0; row < stored.length; row += this.cells) {
      let total = 0;
      for (let i = row; i < row + this.cells; i += 1) total += shares[i] = stored[i] ** 2;
      if (total) for (let i = row; i < row + this.cells; i += 1) shares[i] /= total;
    }
    return shares;
  }

  areaOf(cell) { return { top: Math.floor(cell / this.columns), left: cell % this.columns, height: 1, width: 1 }; }

  /** The smallest area that holds all `cells`. */
  box(cells) {
    const [rows, columns] = [cells.map((c) => Math.floor(c / this.columns)), cells.map((c) => c % this.columns)];
    const [top, left] = [Math.min(...rows), Math.min(...columns)];
    return { top, left, height: Math.max(...rows) - top + 1, width: Math.max(...columns) - left + 1 };
  }

  cellsOf({ top, left, height, width }) {
    return Array.from({ length: height * width }, (_, i) => (top + Math.floor(i / width)) * this.columns + left + (i % width));
  }

  /** An area in pixels of the picture: [left, top, right, bottom]. */
  pixels({ top, left, height, width }) {
    const [first, last] = [top * this.columns + left, (top + height - 1) * this.columns + left + width - 1];
    const { cells } = this.arrays;
    return [cells[4 * first], cells[4 * first + 1], cells[4 * last + 2], cells[4 * last + 3]];
  }

  /**
   * The marks to highlight on the other side: {head, rank, weight, more, area, read}. Marks of a
   * head are sorted by weight, the heaviest first.
   */
  marks(side, items, heads, how, many, overlap) {
    if (side === 'query' && how.against === 'average') return heads.flatMap((head) => this.raised(items, head, many));
    if (side === 'query' && how.reading === 'densest') return this.densest(items, heads, how);
    return heads.flatMap((head) => {
      if (side === 'memory') return this.attending(items, head, many);
      if (how.reading === 'coverage') return this.cellMarks(this.heat('query', items, [head]), head, many);
      return this.attended(items, head, how.areas === 'several', many, overlap);
    });
  }

  /** The cells of the largest values, as marks of one cell. */
  cellMarks(values, head, many) {
    const above = Array.from(values, (weight, cell) => ({ weight, cell })).filter(({ weight }) => weight > 0);
    const best = above.sort((a, b) => b.weight - a.weight).slice(0, many);
    return best.map(({ weight, cell }, rank) => ({ head, rank, weight, more: 0, area: this.areaOf(cell), read: false }));
  }

  raised(items, head, many) { return this.cellMarks(this.heat('query', items, [head], true), head, many); }

  /** The densest area of each run of queries. All areas of one head have the same rank. */
  densest(items, heads, how) {
    return this.readings.densest(items, heads, how).map(({ first, last, ...found }) => ({ ...found, rank: 0, area: this.box([first, last]), read: false }));
  }

  /**
   * The heaviest areas, without those that overlap a heavier one by more than `overlap`. A mean
   * over several items contains only sent weights: `more` is the weight that an area may have in
   * addition.
   */
  attended(items, head, several, many, overlap) {
    const list = several && this.hasSeveral ? 'several' : 'area';
    const weights = new Map();
    for (const item of items) this.gather(list, head * this.queries + item, weights);
    const left = items.reduce((total, item) => total + this.left(list, head * this.queries + item), 0);
    const read = items.length === 1 ? this.read(head, items[0]) : [];
    for (const mark of read) weights.delete(mark.index);
    const weighed = Array.from(weights, ([index, { weight, known }]) => ({
      head, area: this.grid.area(index), weight: weight / items.length, more: (left - known) / items.length, read: false,
    }));
    const found = [...read, ...heaviestApart(weighed, many - read.length, overlap)];
    return found.map((mark, rank) => ({ ...mark, rank }));
  }

  /**
   * Add the weights of one query's sent areas to `weights`. `known` sums, for each of them, the
   * bound that applies only if an area was not sent.
   */
  gather(list, row, weights) {
    const [index, stored, keep] = [this.arrays[list], this.arrays[`${list}_weight`], this.keep[list]];
    for (let i = row * keep; i < (row + 1) * keep; i += 1) {
      if (!stored[i]) continue;
      const { weight, known } = weights.get(index[i]) ?? { weight: 0, known: 0 };
      weights.set(index[i], { weight: weight + (stored[i] / 65535) ** 2, known: known + this.left(list, row) });
    }
  }

  /** The largest possible weight of an area of one query that was not sent. */
  left(list, row) { return (this.arrays[`${list}_left`][row] / 65535) ** 2; }

  /**
   * The area that hard attention read for one query, as a list of one. The list is empty for soft
   * attention.
   */
  read(head, item) {
    const { read, read_weight: weight } = this.arrays;
    const at = head * this.queries + item;
    return read ? [{ head, index: read[at], area: this.grid.area(read[at]), weight: (weight[at] / 65535) ** 2, read: true }] : [];
  }

  /** The queries that give the cells `items` the largest share together. */
  attending(items, head, many) {
    const given = Array.from({ length: this.queries }, (_, query) => [query, this.given(head, query, items)]);
    const best = given.filter(([, weight]) => weight > 0).sort((a, b) => b[1] - a[1]).slice(0, many);
    return best.map(([query, weight], rank) => ({ head, rank, weight, query, area: this.text ? null : this.areaOf(query), read: false }));
  }

  given(head, query, items) {
    const row = (head * this.queries + query) * this.cells;
    return items.reduce((total, item) => total + this.shares[row + item], 0);
  }

  /**
   * The tint of the other side: the mean share of every cell, or the share that every query gives
   * to the cells `items`. With `against`, it is relative to the heads' averages, as a base-2
   * logarithm.
   */
  heat(side, items, heads, against = false) {
    const heat = new Float32Array(side === 'query' ? this.cells : this.queries);
    const parts = heads.length * (side === 'query' || against ? items.length : 1);
    for (const head of heads) {
      if (side === 'memory') for (let q = 0; q < this.queries; q += 1) for (const cell of items) heat[q] += this.value(head, q, cell, against) / parts;
      else for (const item of items) for (let n = 0; n < this.cells; n += 1) heat[n] += this.value(head, item, n, against) / parts;
    }
    return heat;
  }

  value(head, query, cell, against) {
    const share = this.shares[(head * this.queries + query) * this.cells + cell];
    return against ? this.readings.ratio(head, cell, share) : share;
  }

  /** The colour of a tint from 0 to 1. */
  ramp(level) {
    const stops = this.header.heat;
    return stops[Math.round(level * (stops.length - 1))];
  }

  /** The noun for the items of a side. */
  name(side, items) {
    if (side === 'query' && this.text) return this.text.runs(items).map(([first, last]) => quoted(this.text.run(first, last))).join(', ');
    const box = this.box(items);
    return box.height * box.width === items.length ? areaText(box) : sentence('{count} cells', { count: items.length });
  }
}
