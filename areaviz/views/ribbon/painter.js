// Draws the links between the two texts, behind both: a bar over a head's span, and a thread from
// the bar's middle to the hovered items. The thickness of the thread is the span's weight.

const THICKEST = 12;
const THINNEST = 2.5;
const FAINT = 0.35;
const FAR = 120; // px sideways from which threads turn at different heights
const TURNS = 0.8; // the share of the height between the texts at which they turn
const FROM_CHIP = 7; // distance from a chip to the middle of the nearest bar

class Painter {
  constructor(svg) { this.svg = svg; }

  /**
   * Draw {pointed, bars} over `sides`; bars are {head, lane, isFirst, isPale, start, length,
   * share}, the first of a lane foremost.
   */
  draw(sides, { pointed, bars }, colours) {
    this.colours = colours;
    this.origin = this.svg.getBoundingClientRect();
    this.svg.replaceChildren();
    if (!pointed) return;
    const [own, other] = [sides[pointed.side], sides[OTHER[pointed.side]]];
    const first = bars.filter(({ isFirst }) => isFirst);
    this.threads(first.map((bar) => ({ ...bar, ...this.middle(other, bar) })), this.end(own, pointed.items));
    for (const bar of [...bars].reverse()) this.bar(other, bar);
    this.marks(other, bars);
    this.marks(own, pointed.items.map((start) => ({ start })));
  }

  /** The position and size of the visible part of a side. */
  frame(side) {
    const box = side.scroller.getBoundingClientRect();
    const [left, top] = [box.left - this.origin.left, box.top - this.origin.top];
    return { left, top, bottom: top + box.height };
  }

  /** The boxes of a run of items that are in view. */
  boxes(side, start, length) {
    const { left, top, bottom } = this.frame(side);
    const { chip } = side.layout.sizes;
    const boxes = side.layout.boxes(start, start + length - 1);
    const placed = boxes.map(({ x, y, width }) => ({ x: x + left, y: y + top - side.scroller.scrollTop, width }));
    return placed.filter(({ y }) => y + chip > top + 1 && y < bottom - 1);
  }

  barHeight(side) { return side.layout.pitch - 3; }

  /** The height of a lane above, or below, the chips of a row. */
  laneOf(side, box, lane) {
    const { isBelow, pitch, sizes } = side.layout;
    return isBelow ? box.y - FROM_CHIP - lane * pitch : box.y + sizes.chip + FROM_CHIP + lane * pitch;
  }

  /** The edge of a side that faces the other text. */
  facing(side) { return side.layout.isBelow ? this.frame(side).top : this.frame(side).bottom; }

  /**
   * The start of a thread: at the middle of a bar, or at the edge of the text if the bar is out of
   * view.
   */
  middle(side, { start, length, lane }) {
    const [box] = this.boxes(side, start, length);
    const { layout } = side;
    if (box) return { x: box.x + box.width / 2, y: this.laneOf(side, box, lane) };
    return { x: this.frame(side).left + layout.x[start] + layout.width[start] / 2, y: this.facing(side), isOut: true, isDown: layout.isBelow };
  }

  /** The end of threads: at the hovered chip, or at the edge of its text. */
  end(side, items) {
    const [first, last] = side.items.runs(items)[0];
    const [box] = this.boxes(side, first, last - first + 1);
    const { isBelow, sizes, x, width } = side.layout;
    if (box) return { x: box.x + box.width / 2, y: isBelow ? box.y - 1 : box.y + sizes.chip + 1 };
    return { x: this.frame(side).left + x[first] + width[first] / 2, y: this.facing(side), isOut: true, isDown: isBelow };
  }

  /**
   * Threads that begin at one place are next to each other, and end in the order in which they
   * begin. Threads that go far sideways turn at different heights, in this order, so that they do
   * not overlap.
   */
  threads(begun, end) {
    const thick = ({ share }) => Math.max(THINNEST, THICKEST * Math.min(share, 1));
    const ordered = begun.map((one) => ({ ...one, thick: thick(one) })).sort((a, b) => a.x - b.x || a.lane - b.lane);
    const places = groupedBy(ordered, ({ x }) => Math.round(x / 24));
    for (const together of places.values()) setApart(together, together[0].x, 'x');
    setApart(ordered, end.x, 'to');
    const sideways = ordered.reduce((sum, { x }) => sum + x - end.x, 0) / ordered.length;
    for (const [place, { head, share, x, y, to, thick: width, isOut, isDown }] of ordered.entries()) {
      const turn = Math.min(Math.max(sideways / FAR, -1), 1) * (0.5 - (place + 0.5) / ordered.length);
      const bend = (y + end.y) / 2 + TURNS * turn * (y - end.y);
      const made = this.add('path', 'thread', head, { d: `M${x},${y}C${x},${bend} ${to},${bend} ${to},${end.y}`, 'stroke-width': width });
      made.style.strokeOpacity = FAINT + 0.5 * Math.min(share, 1);
      if (isOut) this.arrow(head, x, y, isDown);
      if (end.isOut) this.arrow(head, to, end.y, end.isDown);
    }
  }

  /** An arrow head, which shows that a thread continues to a place out of view. */
  arrow(head, x, y, isDown) {
    const step = isDown ? 7 : -7;
    this.add('path', 'arrow', head, { d: `M${x - 6},${y - step}H${x + 6}L${x},${y + step / 2}Z` });
  }

  bar(side, { head, lane, isFirst, isPale, start, length, share }) {
    const height = this.barHeight(side);
    for (const box of this.boxes(side, start, length)) {
      const y = this.laneOf(side, box, lane);
      const inset = Math.min(height / 2, box.width / 2 - 0.5);
      const d = `M${box.x + inset},${y}H${box.x + box.width - inset}`;
      if (isFirst && !isPale) this.add('path', 'edge', head, { d, 'stroke-width': height + 1 });
      const made = this.add('path', 'band', head, { d, 'stroke-width': isFirst ? height : height / 2 });
      if (isPale) made.style.strokeOpacity = FAINT + 0.4 * Math.min(share, 1);
    }
  }

  /** Where spans and pointed items are in the whole of a long text, next to its scroll bar. */
  marks(side, spans) {
    if (!side.isLong) return;
    const { left, top, bottom } = this.frame(side);
    const { firsts, row } = side.layout;
    const x = left + side.scroller.clientWidth - MARKS_WIDTH + 5;
    for (const { head, start } of spans) {
      const y = top + (row[start] / firsts.length) * (bottom - top);
      this.add('path', 'mark', head, { d: `M${x},${y}h${MARKS_WIDTH - 6}`, 'stroke-width': 3 });
    }
  }

  add(tag, name, head, attributes) {
    const made = document.createElementNS(this.svg.namespaceURI, tag);
    made.setAttribute('class', head >= this.colours.length ? `${name} again` : name);
    if (head !== undefined) made.style.setProperty('--head', this.colours[head % this.colours.length]);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    this.svg.append(made);
    return made;
  }
}

/**
 * Put the middles of some threads next to each other, around `middle`, into their property `name`.
 */
function setApart(threads, middle, name) {
  let left = middle - threads.reduce((sum, { thick }) => sum + thick + 2, -2) / 2;
  for (const thread of threads) {
    thread[name] = left + thread.thick / 2;
    left += thread.thick + 2;
  }
}

// One of the two texts on the page: a scroller with elements for the rows in view. The links
// between the texts are drawn by `Painter` behind both.

const OVERSCAN = 1;

class Side {
  constructor(section, name) {
    this.name = name;
    this.section = section;
    this.title = section.querySelector('.title');
    this.view = section.querySelector('.view');
    this.scroller = section.querySelector('.scroller');
    this.list = section.querySelector('.rows');
    this.rows = new Map();
    this.forget();
  }

  forget() { this.scene = { tints: new Map(), pointed: [], locked: [], focus: -1 }; }

  load(items, heads) {
    Object.assign(this, { items, layout: new Layout(items, heads, this.name === 'memory') });
    this.forget();
    this.scroller.scrollTop = 0;
    this.scroller.dir = 'ltr';
    this.section.dataset.level = items.level;
  }

  /** Lay the text out in the available width, at most `tallest` pixels high. */
  resize(tallest, measure, hasSeams) {
    const { layout } = this;
    const width = this.scroller.clientWidth;
    if (width < 40) return false;
    layout.place(width, measure, hasSeams);
    const room = Math.max(tallest, layout.rowHeight * 1.5);
    this.isLong = layout.height > room;
    if (this.isLong) layout.place(width - MARKS_WIDTH, measure, hasSeams);
    this.view.style.height = `${Math.min(layout.height, room)}px`;
    this.list.style.height = `${layout.height}px`;
    this.section.classList.toggle('compact', layout.sizes === COMPACT);
    this.list.replaceChildren();
    this.rows.clear();
    this.render();
    return true;
  }

  /** Make elements for the rows in view, and remove all other elements. */
  render() {
    const { rowHeight, firsts } = this.layout;
    const from = Math.max(Math.floor(this.scroller.scrollTop / rowHeight) - OVERSCAN, 0);
    const to = Math.min(Math.ceil((this.scroller.scrollTop + this.view.clientHeight) / rowHeight) + OVERSCAN, firsts.length);
    for (const [row, element] of this.rows) {
      if (row < from || row >= to) { element.remove(); this.rows.delete(row); }
    }
    for (let row = from; row < to; row += 1) if (!this.rows.has(row)) this.rows.set(row, this.addRow(row));
  }

  addRow(row) {
    const made = element('div', 'row');
    made.setAttribute('role', 'presentation');
    made.style.transform = `translateY(${row * this.layout.rowHeight + this.layout.above}px)`;
    for (let i = this.layout.firsts[row]; i <= this.layout.last(row); i += 1) made.append(this.addItem(i));
    this.list.append(made);
    return made;
  }

  addItem(item) {
    const { text } = this.layout.kinds[item];
    const made = element('span', this.classOf(item), text);
    made.id = this.elementId(item);
    made.style.left = `${this.layout.x[item]}px`;
    made.style.width = `${this.layout.width[item]}px`;
    made.setAttribute('role', 'option');
    made.setAttribute('aria-posinset', item + 1);
    made.setAttribute('aria-setsize', this.items.count);
    this.paint(made, item);
    return made;
  }

  classOf(item) {
    const { layout } = this;
    const { quiet, symbol } = layout.kinds[item];
    const [first, last] = layout.chips[layout.chipOf[item]];
    const ends = [layout.isFirst(item) && 'first', layout.isLast(item) && 'last'];
    const isUnsure = !layout.isBlank(item) && this.items.unsure.some((one) => one >= first && one <= last);
    const seam = layout.seam > 0 && !layout.isFirst(item) && 'seam';
    return ['item', symbol && 'symbol', layout.isBlank(item) ? 'blank' : quiet && 'quiet', isUnsure && 'unsure', this.items.hidden.includes(item) && 'hidden', seam, ...ends]
      .filter(Boolean).join(' ');
  }

  /** Show on an item's element whether the item is hovered, and its share of the attention. */
  paint(made, item) {
    const { tints, pointed, locked, focus } = this.scene;
    const tint = tints.get(item);
    made.style.setProperty('--depth', `${Math.round((tint?.depth ?? 0) * 100)}%`);
    if (tint?.colour) made.style.setProperty('--over', tint.colour);
    else made.style.removeProperty('--over');
    made.classList.toggle('strong', Boolean(tint?.isStrong));
    made.classList.toggle('pointed', pointed.includes(item));
    made.classList.toggle('ring', focus === item);
    made.toggleAttribute('data-lit', pointed.includes(item));
    made.setAttribute('aria-selected', locked.includes(item));
  }

  elementId(item) { return `${this.name}-${item}`; }

  /** The item under a pointer event, or -1. */
  hit(event) {
    const box = this.scroller.getBoundingClientRect();
    return this.layout.hit(event.clientX - box.left, event.clientY - box.top + this.scroller.scrollTop);
  }

  /** Show a scene: {tints, pointed, locked, focus}. Only elements in view change. */
  show(scene) {
    this.scene = scene;
    for (const [row, made] of this.rows) {
      const first = this.layout.firsts[row];
      for (let i = 0; i < made.children.length; i += 1) this.paint(made.children[i], first + i);
    }
  }

  reveal(item) {
    const top = this.layout.row[item] * this.layout.rowHeight;
    const { scrollTop } = this.scroller;
    const inView = top >= scrollTop && top + this.layout.rowHeight <= scrollTop + this.view.clientHeight + this.layout.bands;
    if (inView) return;
    const smooth = !matchMedia('(prefers-reduced-motion: reduce)').matches;
    const middle = top - (this.view.clientHeight - this.layout.rowHeight) / 2;
    this.scroller.scrollTo({ top: middle, behavior: smooth ? 'smooth' : 'auto' });
  }
}
