// The data of one site and layer, and the spans that are highlighted on hover. The layout of the
// message is that of `make_ribbon_payload` in areaviz/views/ribbon/ribbon.py.

/** The items of one text: their labels, their places in the text, and the word of each. */
class Items {
  constructor(header, start, end, words) {
    Object.assign(this, { title: header.title, raw: header.raw, start, end, words, count: start.length });
    this.characters = Array.from(header.raw);
    this.labels = Array.from(start, (_, i) => header.labels[i] ?? this.text(i, i));
    this.wordOf = new Uint32Array(this.count);
    words.forEach((first, word) => this.wordOf.fill(word, first));
    this.level = this.labels.some((label, i) => !this.isSymbol(i) && end[i] - start[i] > 1) ? 'token' : 'character';
    this.rightToLeft = mostlyRightToLeft(header.raw);
    this.hidden = header.hidden ?? []; // items that a change hides from the model
    this.unsure = header.unsure ?? []; // items that the model wrote with a probability below one half
  }

  isSymbol(item) { return this.start[item] === this.end[item]; }

  text(first, last) { return this.characters.slice(this.start[first], this.end[last]).join(''); }

  /** First and last item of the word that contains `item`. */
  word(item) {
    const word = this.wordOf[item];
    return [this.words[word], (this.words[word + 1] ?? this.count) - 1];
  }

  /** The text of the items from `first` to `last`. Symbols are replaced by their labels. */
  run(first, last) {
    const parts = [];
    for (let i = first; i <= last; i += 1) {
      let end = i;
      while (end < last && !this.isSymbol(i) && !this.isSymbol(end + 1)) end += 1;
      parts.push(this.isSymbol(i) ? this.labels[i] : this.text(i, end));
      i = end;
    }
    return parts.join(' ');
  }

  /** Neighbouring items as runs [first, last]. */
  runs(items) {
    const runs = [];
    for (const item of [...items].sort((a, b) => a - b)) {
      if (runs.length && runs.at(-1)[1] === item - 1) runs.at(-1)[1] = item;
      else runs.push([item, item]);
    }
    return runs;
  }

  /**
   * The items that represent a range of characters. An empty range finds the symbols at that place.
   */
  at([from, to]) {
    const found = [];
    for (let i = 0; i < this.count; i += 1) {
      const symbol = this.isSymbol(i);
      if (from === to ? symbol && this.start[i] === from : !symbol && this.start[i] < to && this.end[i] > from) found.push(i);
    }
    return found;
  }
}

function mostlyRightToLeft(text) {
  const count = (pattern) => (text.match(pattern) ?? []).length;
  const rightToLeft = count(/[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}]/gu);
  return rightToLeft * 2 > count(/\p{L}/gu);
}

/**
 * The attention between both texts. Spans are {head, start, length, weight, more}, heaviest first
 * in a head; see `slack`.
 */
class Attention {
  constructor(message) {
    const { header, arrays } = message;
    this.heads = header.heads;
    this.arrays = arrays;
    this.keep = header.keep;
    this.hasSeveral = 'several' in header.keep;
    const sides = header.fields.map((field, f) => new Items(field, arrays[`f${f}.start`], arrays[`f${f}.end`], arrays[`f${f}.word`]));
    this.sides = { query: sides[header.query], memory: sides[header.memory] };
    this.lit = header.lit;
    this.grid = new AreaGrid(header.grid);
    this.readings = new Readings(message, this.sides.query.count, this.sides.query);
  }

  /** The spans to highlight in the other text for `items` of `side`, in the chosen display. */
  spans(side, items, heads, how) {
    if (side === 'query' && how.against === 'average') return heads.flatMap((head) => this.raised(items, head));
    if (side === 'query' && how.reading === 'densest') {
      const found = this.readings.densest(items, heads, how);
      return found.map(({ first, last, ...span }) => ({ ...span, start: first, length: last - first + 1 }));
    }
    const attended = how.reading === 'coverage' ? 'item' : how.areas === 'several' && this.hasSeveral ? 'several' : 'area';
    return this.listed(side === 'memory' ? 'query' : attended, side, items, heads, how.unit === 'word');
  }

  /**
   * The heaviest entries of a sent list: "area", "several" or "item", or "query" for attending
   * items.
   */
  listed(list, side, items, heads, byWord) {
    const other = this.sides[side === 'query' ? 'memory' : 'query'];
    return heads.flatMap((head) => {
      const weights = new Map();
      const { count } = this.sides[side];
      for (const item of items) this.gather(list, count, head, item, byWord ? other : null, weights);
      const more = items.length > 1 || byWord ? this.slack(list, count, head, items, byWord) : 0;
      return this.heaviest(weights, items.length).map((span) => ({ ...span, head, more }));
    });
  }

  /**
   * The items that get more attention than on average. Their weight is a base-2 logarithm of the
   * ratio.
   */
  raised(items, head) {
    const values = this.against('query', items, [head]);
    const above = Array.from(values, (weight, start) => ({ head, start, length: 1, weight, more: 0 })).filter(({ weight }) => weight > 0);
    return above.sort((a, b) => b.weight - a.weight).slice(0, this.lit.many);
  }

  /**
   * The base-2 logarithms of the other side's shares relative to the heads' averages, as a mean
   * over heads and items. Values that were not sent are 0.
   */
  against(side, items, heads) {
    const { query, memory } = this.sides;
    const values = new Float32Array(side === 'query' ? memory.count : query.count);
    const whole = this.keep.item >= memory.count;
    const asked = side === 'query' ? items : Array.from(values.keys());
    for (const head of heads) for (const one of asked) {
      const shares = this.shares(head, one);
      const looked = side === 'query' ? (whole && shares.size ? values.keys() : shares.keys()) : items.filter((item) => shares.has(item) || (whole && shares.size));
      for (const item of looked) values[side === 'query' ? item : one] += this.readings.ratio(head, item, shares.get(item) ?? 0);
    }
    return values.map((value) => value / (heads.length * items.length));
  }

  /** The shares that were sent of one query, by item. */
  shares(head, query) {
    const { item, item_weight: stored } = this.arrays;
    const from = (head * this.sides.query.count + query) * this.keep.item;
    const found = new Map();
    for (let i = from; i < from + this.keep.item; i += 1) if (stored[i]) found.set(item[i], (stored[i] / 65535) ** 2);
    return found;
  }

  /** The largest weight that may be missing from a span's sent weight, as a mean over items. */
  slack(list, count, head, items, byWord) {
    const { [`${list}_weight`]: stored, [`${list}_rest`]: rest } = this.arrays;
    if (!rest) return 1;
    const keep = this.keep[list];
    const missing = (item) => {
      const [row, left] = [head * count + item, (rest[head * count + item] / 65535) ** 2];
      const lightest = (stored[(row + 1) * keep - 1] / 65535) ** 2; // the largest weight of an unsent span
      const single = list === 'query' || (!byWord && (list === 'item' || keep > this.lit.many));
      return single ? Math.min(left, lightest) : left;
    };
    return items.reduce((total, item) => total + missing(item), 0) / items.length;
  }

  gather(list, count, head, item, words, weights) {
    const areas = list !== 'query';
    const [index, stored, keep] = [this.arrays[list], this.arrays[`${list}_weight`], this.keep[list]];
    const largest = 2 ** (8 * stored.BYTES_PER_ELEMENT) - 1;
    const from = (head * count + item) * keep;
    for (let i = from; i < from + keep; i += 1) {
      if (!stored[i]) continue;
      let [first, last] = areas ? this.ends(index[i]) : [index[i], index[i]];
      let weight = (stored[i] / largest) ** 2;
      if (words) {
        [first, last] = [words.word(first)[0], words.word(last)[1]];
        if (!areas) weight /= last - first + 1;
      }
      const key = first * 65536 + last;
      weights.set(key, (weights.get(key) ?? 0) + weight);
    }
  }

  /** First and last item of an area, from its index. */
  ends(index) {
    const { left, width } = this.grid.area(index);
    return [left, left + width - 1];
  }

  /** The spans of a head to highlight, from the sums of their weights over `count` items. */
  heaviest(weights, count) {
    const weighed = Array.from(weights, ([key, weight]) => {
      const left = Math.floor(key / 65536);
      return { area: { top: 0, left, height: 1, width: (key % 65536) - left + 1 }, weight };
    });
    const found = heaviestApart(weighed, this.lit.many, this.lit.overlap);
    return found.map(({ area, weight }) => ({ start: area.left, length: area.width, weight: weight / count }));
  }
}

// One text laid out as chips of whole words, in rows of equal height. Every item's place is known
// without asking the page, so only the rows in view need elements.

const SYMBOLS = { ' ': '␣', '\n': '↵', '\r': '↵', '\t': '⇥' };
/** Sizes in pixels, for a short text in a wide place, and for a long text or a narrow place. */
const ROOMY = { font: 22, symbol: 15, chip: 42, padding: 11, gap: 8, rowGap: 10 };
const COMPACT = { font: 17, symbol: 14, chip: 34, padding: 7, gap: 6, rowGap: 6 };
const NARROW = 760; // below this width a text is set in `COMPACT`, so that most sentences keep to one row
const LONG = 320; // a text with this number of characters is also set in `COMPACT`
const WIDEST_GAP = 48;
const SEAM = 7; // space between the pieces of a word, if pieces are the unit
const MARKS_WIDTH = 14;
const BLANK_OVERHANG = 10;
const MOST_BARS = 4;

/**
 * The visible text of an item: pale signs for spaces, breaks and invisible characters; a lone mark
 * gets a dotted circle.
 */
function shown(label) {
  if (SYMBOLS[label]) return { text: SYMBOLS[label], quiet: true };
  if (/^\s+$/u.test(label)) return { text: '␣', quiet: true };
  if (/^[\p{Cc}\p{Cf}]*$/u.test(label)) return { text: '·', quiet: true };
  if (/^\p{M}/u.test(label)) return { text: `◌${label}`, quiet: false };
  return { text: label.trim(), quiet: false };
}

/**
 * The runs [first, last] of items that share a chip: words, without the punctuation at their ends.
 */
function chipsOf(items) {
  const isLetter = (item) => /[\p{L}\p{N}\p{M}]/u.test(items.labels[item]);
  return Array.from(items.words, (first, word) => [first, (items.words[word + 1] ?? items.count) - 1]).flatMap(([first, last]) => {
    let [from, to] = [first, last];
    while (from < last && !isLetter(from)) from += 1;
    while (to > from && !isLetter(to)) to -= 1;
    if (!isLetter(from)) return [[first, last]];
    const alone = (start, end) => Array.from({ length: end - start }, (_, i) => [start + i, start + i]);
    return [...alone(first, from), [from, to], ...alone(to + 1, last + 1)];
  });
}

class Layout {
  constructor(items, heads, isBelow) {
    Object.assign(this, { items, isBelow, bars: Math.min(heads, MOST_BARS), chips: chipsOf(items) });
    this.chipOf = new Uint32Array(items.count);
    this.chips.forEach(([first, last], chip) => this.chipOf.fill(chip, first, last + 1));
    this.kinds = items.labels.map((label, i) => {
      const look = shown(label);
      return { ...look, symbol: items.isSymbol(i), breaks: look.text === '↵' };
    });
    this.x = new Float32Array(items.count);
    this.width = new Float32Array(items.count);
    this.row = new Uint32Array(items.count);
  }

  get height() { return this.firsts.length * this.rowHeight - this.sizes.rowGap; }

  /** The distance from the top of a row to its chips: bars are between both texts. */
  get above() { return this.isBelow ? this.bands : 0; }

  last(row) { return (this.firsts[row + 1] ?? this.items.count) - 1; }

  isFirst(item) { return this.chips[this.chipOf[item]][0] === item; }

  isLast(item) { return this.chips[this.chipOf[item]][1] === item; }

  /**
   * Place every item in rows of `width` pixels. Words are divided only if they do not fit.
   * `measure(text, size)` is in pixels.
   */
  place(width, measure, hasSeams) {
    const isLong = this.items.characters.length > LONG;
    this.sizes = width < NARROW || isLong ? COMPACT : ROOMY;
    this.seam = hasSeams && this.items.level === 'token' ? SEAM : 0;
    const widths = this.items.labels.map((_, item) => this.itemWidth(item, measure));
    this.breakRows(width, widths);
    const spare = this.firsts.length === 1 ? this.spare(width, widths) : 0;
    for (let row = 0; row < this.firsts.length; row += 1) this.setRow(row, widths, spare);
    if (this.items.rightToLeft) for (let i = 0; i < this.items.count; i += 1) this.x[i] = width - this.x[i] - this.width[i];
    this.pitch = this.firsts.length > 1 ? 6 : 9; // rows stay close to each other
    this.bands = this.bars * this.pitch + 5;
    this.rowHeight = this.sizes.chip + this.bands + this.sizes.rowGap;
  }

  /** The width of an item, with its part of the chip's padding. */
  itemWidth(item, measure) {
    const { text, quiet, symbol } = this.kinds[item];
    const own = measure(text, symbol ? this.sizes.symbol : this.sizes.font);
    if (quiet && !symbol) return Math.max(own, this.sizes.gap + 6);
    const ends = this.isFirst(item) + this.isLast(item);
    return Math.max(own, 5) + ends * this.sizes.padding;
  }

  /** Space before an item that does not begin a row. Blanks between words are items themselves. */
  gap(item) {
    if (!this.isFirst(item)) return this.seam;
    return this.isBlank(item) || this.isBlank(item - 1) ? 0 : this.sizes.gap;
  }

  isBlank(item) { return item >= 0 && this.kinds[item].quiet && !this.kinds[item].symbol; }

  breakRows(width, widths) {
    this.firsts = [0];
    let x = 0;
    const newRow = (item) => { this.firsts.push(item); x = 0; };
    const runWidth = (first, last) => {
      let sum = 0;
      for (let i = first; i <= last; i += 1) sum += widths[i] + this.gap(i);
      return sum;
    };
    for (const [first, last] of this.chips) {
      if (x > 0 && x + runWidth(first, last) > width && !this.isBlank(first)) newRow(first);
      for (let i = first; i <= last; i += 1) {
        const room = this.isBlank(i) ? width + BLANK_OVERHANG : width; // a blank stays at the end of its line
        if (x > 0 && x + this.gap(i) + widths[i] > room) newRow(i);
        this.row[i] = this.firsts.length - 1;
        x += (x > 0 ? this.gap(i) : 0) + widths[i];
        if (this.kinds[i].breaks && i + 1 < this.items.count) newRow(i + 1);
      }
    }
  }

  /** The width to add to every gap if there is only one row. */
  spare(width, widths) {
    let [used, gaps] = [0, 0];
    for (let i = 0; i < this.items.count; i += 1) {
      used += widths[i] + (i > 0 ? this.gap(i) : 0);
      if (this.stretches(i)) gaps += 1;
    }
    return gaps ? Math.min(Math.max((width - used) / gaps, 0), WIDEST_GAP - this.sizes.gap) : 0;
  }

  /** Whether this item gets free width before it, or inside it if it is a space. */
  stretches(item) {
    return this.isBlank(item) || (item > 0 && this.isFirst(item) && !this.isBlank(item - 1));
  }

  /** Round to whole pixels, so that the pieces of a chip meet without a gap. */
  setRow(row, widths, spare) {
    let x = 0;
    for (let i = this.firsts[row]; i <= this.last(row); i += 1) {
      const free = this.stretches(i) ? spare : 0;
      if (i > this.firsts[row]) x += this.gap(i) + (this.isBlank(i) ? 0 : free);
      this.x[i] = Math.round(x);
      x += widths[i] + (this.isBlank(i) ? free : 0);
      this.width[i] = Math.round(x) - this.x[i];
    }
  }

  /**
   * The item under a point or close to it, or -1. A point in the gap after an item finds the
   * nearest item.
   */
  hit(x, y) {
    const row = Math.floor(y / this.rowHeight);
    if (row < 0 || row >= this.firsts.length) return -1;
    const last = this.last(row);
    for (let i = this.firsts[row], best = -1, nearest = 16; ; i += 1) {
      if (i > last) return best;
      const distance = Math.max(this.x[i] - x, x - this.x[i] - this.width[i], 0);
      if (distance < nearest) [best, nearest] = [i, distance];
    }
  }

  /** The item of a neighbouring row that is closest below or above `item`. */
  vertical(item, step) {
    const row = this.row[item] + step;
    if (row < 0 || row >= this.firsts.length) return item;
    const middle = this.x[item] + this.width[item] / 2;
    let best = this.firsts[row];
    for (let i = best; i <= this.last(row); i += 1) {
      const away = (j) => Math.abs(this.x[j] + this.width[j] / 2 - middle);
      if (away(i) < away(best)) best = i;
    }
    return best;
  }

  /** The boxes {x, y, width} of the chips that the items first..last fill, one per row. */
  boxes(first, last) {
    const boxes = [];
    for (let i = first; i <= last;) {
      const end = Math.min(last, this.last(this.row[i]));
      const left = Math.min(this.x[i], this.x[end]);
      const right = Math.max(this.x[i] + this.width[i], this.x[end] + this.width[end]);
      boxes.push({ x: left, y: this.row[i] * this.rowHeight + this.above, width: right - left });
      i = end + 1;
    }
    return boxes;
  }
}
