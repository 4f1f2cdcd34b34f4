// One text laid out in rows of equal height by its own measure, so that every item's place is known without asking the
// page, and only the rows in view need elements.

const TEXT_HEIGHT = 26;
const ROW_GAP = 8;
const PITCH = [[4, 6], [8, 4.5], [12, 3.5], [Infinity, 3]]; // up to so many heads: pixels from one band to the next
const SYMBOLS = { ' ': '␣', '\n': '↵', '\r': '↵', '\t': '⇥' };
const CHIP_PADDING = 6;
const MARKS_WIDTH = 14;
const BLANK_OVERHANG = 10;

/** What an item shows: blanks, breaks and invisible characters as quiet signs, a lone mark on a dotted circle. */
function shown(label) {
  if (SYMBOLS[label]) return { text: SYMBOLS[label], quiet: true };
  if (/^\s+$/u.test(label)) return { text: '␣', quiet: true };
  if (/^[\p{Cc}\p{Cf}]*$/u.test(label)) return { text: '·', quiet: true };
  if (/^\p{M}/u.test(label)) return { text: `◌${label}`, quiet: false };
  return { text: label, quiet: false };
}

class Layout {
  constructor(items, heads) {
    this.items = items;
    this.kinds = items.labels.map((label, i) => {
      const look = shown(label);
      const chip = items.isSymbol(i) ? 'symbol' : items.level === 'token' ? 'chip' : '';
      return { ...look, chip, breaks: look.text === '↵' };
    });
    this.bands = Math.max(heads * PITCH.find(([upTo]) => heads <= upTo)[1], 8) + 4;
    this.rowHeight = Math.round(TEXT_HEIGHT + this.bands + ROW_GAP);
    this.x = new Float32Array(items.count);
    this.width = new Float32Array(items.count);
    this.row = new Uint32Array(items.count);
  }

  get height() { return this.firsts.length * this.rowHeight; }

  last(row) { return (this.firsts[row + 1] ?? this.items.count) - 1; }

  /** Place every item in rows of `width` pixels; words stay whole where they fit. */
  place(width, measure) {
    this.firsts = [0];
    let x = 0;
    const newRow = (item) => { this.firsts.push(item); x = 0; };
    for (let i = 0; i < this.items.count; i += 1) this.width[i] = this.itemWidth(i, measure);
    this.items.words.forEach((first, word) => {
      const last = (this.items.words[word + 1] ?? this.items.count) - 1;
      if (x > 0 && x + this.runWidth(first, last) > width && !this.kinds[first].quiet) newRow(first);
      for (let i = first; i <= last; i += 1) {
        const gap = x > 0 ? this.gap(i) : 0;
        const room = this.kinds[i].quiet ? width + BLANK_OVERHANG : width; // a blank stays at the end of its line
        if (x > 0 && x + gap + this.width[i] > room) newRow(i);
        this.x[i] = x + (x > 0 ? gap : 0);
        this.row[i] = this.firsts.length - 1;
        x = this.x[i] + this.width[i];
        if (this.kinds[i].breaks && i + 1 < this.items.count) newRow(i + 1);
      }
    });
    if (this.items.rightToLeft) for (let i = 0; i < this.items.count; i += 1) this.x[i] = width - this.x[i] - this.width[i];
  }

  itemWidth(item, measure) {
    const { text, chip } = this.kinds[item];
    return Math.max(measure(text, chip), 5) + (chip ? 2 * CHIP_PADDING : 1);
  }

  /** Space before an item: tokens of one word stand close, words apart; characters need none. */
  gap(item) {
    if (item === 0 || (!this.kinds[item].chip && !this.kinds[item - 1].chip)) return 0;
    return this.items.level === 'token' && this.items.start[item] === this.items.end[item - 1] && !this.items.isSymbol(item) ? 1 : 7;
  }

  runWidth(first, last) {
    let width = this.gap(first);
    for (let i = first; i <= last; i += 1) width += this.width[i] + (i > first ? this.gap(i) : 0);
    return width;
  }

  /** The item under a point, or -1; a point beyond a row's ends finds its nearest item. */
  hit(x, y) {
    const row = Math.floor(y / this.rowHeight);
    if (row < 0 || row >= this.firsts.length) return -1;
    const last = this.last(row);
    for (let i = this.firsts[row], best = -1, nearest = 12; ; i += 1) {
      if (i > last) return best;
      const distance = Math.max(this.x[i] - x, x - this.x[i] - this.width[i], 0);
      if (distance < nearest) [best, nearest] = [i, distance];
    }
  }

  /** The item of a neighbouring row that stands closest below or above `item`. */
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

  /** The boxes {x, y, width} that the items first..last fill, one a row. */
  boxes(first, last) {
    const boxes = [];
    for (let i = first; i <= last;) {
      const end = Math.min(last, this.last(this.row[i]));
      const left = Math.min(this.x[i], this.x[end]);
      const right = Math.max(this.x[i] + this.width[i], this.x[end] + this.width[end]);
      boxes.push({ x: left, y: this.row[i] * this.rowHeight, width: right - left });
      i = end + 1;
    }
    return boxes;
  }
}
