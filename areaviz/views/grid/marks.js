// Attention to the cells of a picture, and the areas that are highlighted on hover. The layout of
// the message is that of `make_grid_payload` in areaviz/views/grid/grid.py.

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

// Draws one picture with its marks: a tint for the share of every cell, the areas of each head as
// frames at a distance of their own, the areas that hard attention read, and the hovered or locked
// cells.

const DARK = 'rgba(15, 15, 15, 0.85)';
const LIGHT = 'rgba(255, 255, 255, 0.85)';
const SHADE = '#1c272b';
const DARKEST = 0.8; // darkness of a cell without attention, at full strength
const LANE = 3.5; // pixels from one head's frame to the next
const TAG = 15;

class Marks {
  constructor(pen, view, size) {
    const style = getComputedStyle(view.section);
    const read = (name, otherwise) => style.getPropertyValue(name).trim() || otherwise;
    const [width, height] = view.data.header.picture.size;
    Object.assign(this, { pen, view, size, data: view.data, scale: [size.width / width, size.height / height] });
    this.accent = read('--st-primary-color', '#0072B2');
    this.family = read('font-family', 'sans-serif');
    this.cell = Math.min(size.width / view.data.columns, size.height / view.data.rows);
  }

  picture(bitmap) {
    if (!bitmap) return;
    const { coarse } = this.data.header.picture;
    this.pen.imageSmoothingEnabled = !coarse;
    this.pen.imageSmoothingQuality = 'high';
    this.pen.drawImage(bitmap, 0, 0, this.size.width, this.size.height);
  }

  /** Draw the borders of cells, faint on dark and on light pictures. */
  lines() {
    this.pen.strokeStyle = 'rgba(128, 128, 128, 0.38)';
    this.pen.lineWidth = 1;
    for (let cell = 0; cell < this.data.cells; cell += 1) {
      const box = this.box(this.data.areaOf(cell));
      this.pen.strokeRect(Math.round(box.x) + 0.5, Math.round(box.y) + 0.5, Math.round(box.width), Math.round(box.height));
    }
  }

  /** Draw shares as brightness. The cell with the largest share is unchanged, others are darker. */
  dim(values, strength) {
    const most = Math.max(...values);
    if (!most) return;
    this.pen.fillStyle = SHADE;
    values.forEach((value, cell) => {
      this.pen.globalAlpha = DARKEST * strength * (1 - value / most);
      this.fill(cell);
    });
    this.pen.globalAlpha = 1;
  }

  /** Fill a cell in whole pixels, so that there is no gap between neighbours. */
  fill(cell) {
    const box = this.box(this.data.areaOf(cell));
    const [x, y] = [Math.round(box.x), Math.round(box.y)];
    this.pen.fillRect(x, y, Math.round(box.x + box.width) - x, Math.round(box.y + box.height) - y);
  }

  /** Draw shares as colour and opacity. The largest share is the end of the scale. */
  heat(values, strength) {
    const most = Math.max(...values);
    if (!most) return;
    values.forEach((value, cell) => {
      const level = value / most;
      this.pen.globalAlpha = strength * level;
      this.pen.fillStyle = this.data.ramp(level);
      this.fill(cell);
    });
    this.pen.globalAlpha = 1;
  }

  /**
   * Draw shares relative to the average: one colour for more, one for less, most opaque at the
   * ends.
   */
  signed(values, strength) {
    const { signed, steepest } = this.data.header;
    values.forEach((value, cell) => {
      this.pen.globalAlpha = strength * Math.min(Math.abs(value) / steepest, 1);
      this.pen.fillStyle = signed[value > 0 ? 1 : 0];
      this.fill(cell);
    });
    this.pen.globalAlpha = 1;
  }

  /**
   * Draw areas as frames, the strongest on top. The strongest frame of a head is as thick as its
   * weight. All other frames are thin.
   */
  areas(marks, heads, strength) {
    this.pen.globalAlpha = 0.25 + 0.75 * Math.sqrt(strength);
    const edge = this.data.arrays.read ? 6 : 2; // room for the frame of the area that was read
    const lane = Math.min(LANE, this.cell / (2.4 * heads.length));
    for (const mark of [...marks].sort((a, b) => b.rank - a.rank || a.weight - b.weight)) {
      const inset = edge + lane * heads.indexOf(mark.head);
      this.frame(this.box(mark.area, inset), this.colour(mark.head), this.behind(mark.head), mark.rank ? 1.5 : 2 + 3 * Math.min(mark.weight, 1), mark.head >= this.view.colours.length);
    }
    this.pen.globalAlpha = 1;
    for (const mark of marks) if (mark.read) this.frame(this.box(mark.area, 2.5), '#ffffff', '#101010', 2.5);
  }

  /**
   * Draw the number of each head at its strongest area, because colours alone do not tell heads
   * apart.
   */
  tags(marks) {
    const taken = [];
    for (const mark of marks.filter(({ rank }) => rank === 0)) {
      const box = this.box(mark.area);
      const spot = { x: Math.min(box.x, this.size.width - TAG), y: Math.max(box.y - TAG / 2, 0) };
      while (taken.some((other) => Math.abs(other.x - spot.x) < TAG && Math.abs(other.y - spot.y) < TAG)) spot.x += TAG + 1;
      if (spot.x + TAG > this.size.width) spot.x = Math.max(Math.min(...taken.map((other) => other.x)) - TAG - 1, 0);
      taken.push(spot);
      this.tag(spot, mark.head);
    }
  }

  tag({ x, y }, head) {
    this.pen.fillStyle = DARK;
    this.block(x - 1, y - 1, TAG + 2, 4);
    this.pen.fillStyle = this.colour(head);
    this.block(x, y, TAG, 3.5);
    this.pen.fillStyle = luminous(this.colour(head), 140) ? '#111111' : '#ffffff';
    this.pen.font = `600 ${head > 8 ? 9 : 11}px ${this.family}`;
    this.pen.textAlign = 'center';
    this.pen.textBaseline = 'middle';
    this.pen.fillText(`${head + 1}`, x + TAG / 2, y + TAG / 2 + 0.5);
  }

  block(x, y, side, radius) {
    this.pen.beginPath();
    this.pen.roundRect(x, y, side, side, radius);
    this.pen.fill();
  }

  /** Draw the outline around the hovered or locked cells. */
  outline(cells, locked) {
    const inside = new Set(cells);
    const { columns } = this.data;
    const lines = cells.flatMap((cell) => {
      const { x, y, width, height } = this.box(this.data.areaOf(cell));
      const [left, right] = [cell % columns ? cell - 1 : -1, (cell + 1) % columns ? cell + 1 : -1];
      return [
        !inside.has(cell - columns) && [x, y, x + width, y], !inside.has(cell + columns) && [x, y + height, x + width, y + height],
        !inside.has(left) && [x, y, x, y + height], !inside.has(right) && [x + width, y, x + width, y + height],
      ].filter(Boolean);
    });
    for (const [colour, width] of [['#ffffff', locked ? 6 : 5], [this.accent, locked ? 3.5 : 2.5]]) this.stroke(lines, colour, width);
  }

  stroke(lines, colour, width) {
    Object.assign(this.pen, { strokeStyle: colour, lineWidth: width, lineCap: 'square' });
    this.pen.beginPath();
    for (const [x, y, toX, toY] of lines) {
      this.pen.moveTo(x, y);
      this.pen.lineTo(toX, toY);
    }
    this.pen.stroke();
  }

  /** Draw the frame of the cell with the keyboard focus. */
  ring(cell) { this.frame(this.box(this.data.areaOf(cell), 3), '#ffffff', '#101010', 1.5); }

  /** Draw a frame with a wider one behind it, so that it is visible on any picture. */
  frame({ x, y, width, height }, colour, behind, thick, dashed = false) {
    for (const [style, line] of [[behind, thick + 1.75], [colour, thick]]) {
      Object.assign(this.pen, { strokeStyle: style, lineWidth: line, lineJoin: 'round' });
      this.pen.setLineDash(dashed && style === colour ? [6, 3] : []);
      this.pen.strokeRect(x, y, width, height);
    }
    this.pen.setLineDash([]);
  }

  /** An area on the canvas, `inset` pixels inside its edge. */
  box(area, inset = 0) {
    const [left, top, right, bottom] = this.data.pixels(area).map((value, side) => value * this.scale[side % 2]);
    const [x, y] = [left + inset, top + inset];
    return { x, y, width: Math.max(right - inset - x, 2), height: Math.max(bottom - inset - y, 2) };
  }

  /**
   * The colour behind a head's colour, for contrast on any picture: light behind dark, dark behind
   * light.
   */
  behind(head) { return luminous(this.colour(head), 175) ? DARK : LIGHT; }

  colour(head) { return this.view.colours[head % this.view.colours.length]; }
}

function channels(colour) { return [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16)); }

/**
 * The mixture of a colour "#rrggbb" and the ground behind it, where the colour has the opacity
 * `part`.
 */
function mixed(colour, ground, part) {
  const behind = channels(ground);
  const mix = channels(colour).map((value, i) => Math.round(part * value + (1 - part) * behind[i]));
  return `#${mix.map((value) => value.toString(16).padStart(2, '0')).join('')}`;
}

/**
 * Whether black letters have more contrast on a colour "#rrggbb" than white ones (relative
 * luminance of WCAG 2.2).
 */
function takesBlack(colour) {
  const [red, green, blue] = channels(colour).map((value) => ((value / 255 + 0.055) / 1.055) ** 2.4);
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.179;
}

/** Whether a colour "#rrggbb" is lighter than a level of 0..255. */
function luminous(colour, level) {
  const [red, green, blue] = channels(colour);
  return 0.3 * red + 0.59 * green + 0.11 * blue > level;
}
