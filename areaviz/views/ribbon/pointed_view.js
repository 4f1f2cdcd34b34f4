// Common base of ribbon and grid: the hovered, linked and locked items, the chosen heads and areas,
// and when to draw. Both add `load(message)`, `share()`, `draw()` and `sides`. `settle()` is called
// after new items are locked.

const LINK_EVENT = 'areaviz:ribbon';
const OTHER = { query: 'memory', memory: 'query' };
// Python's names of the texts and pictures, in the reader's language.
const TITLES = {
  Source: sentence('Source'),
  Output: sentence('Output'),
  'Output so far': sentence('Output so far'),
  Picture: sentence('Picture'),
  'Row of pictures': sentence('Row of pictures'),
};
const MOVING_KEYS = ['ArrowLeft', 'ArrowRight', 'ArrowUp', 'ArrowDown', 'Home', 'End'];

class PointedView {
  constructor(root, legend) {
    this.root = root;
    this.legend = legend;
    this.clicks = 0;
    this.listeners = new AbortController();
    root.addEventListener('keydown', (event) => this.escape(event));
    globalThis.addEventListener(LINK_EVENT, (event) => this.hear(event.detail), this.listeners);
  }

  /** The functions that the controls call when the reader chooses heads, a unit, or a display. */
  get choosers() {
    return [(head, adding) => this.chooseHead(head, adding), (unit) => this.chooseUnit(unit), (choice) => this.chooseHow(choice)];
  }

  /**
   * The display of the map: {unit, areas, reading, mass, against}. Displays without sent data
   * cannot be chosen.
   */
  get how() { return this.chosen; }

  set how(chosen) {
    const { reading, against } = chosen;
    const known = { reading: this.readings.has(reading) ? reading : 'heaviest', against: this.readings.hasShares ? against : 'nothing' };
    this.chosen = { ...chosen, ...known };
  }

  destroy() {
    this.listeners.abort();
    this.observer.disconnect();
    cancelAnimationFrame(this.frame);
  }

  /** Apply a message of the server: new data, or only a new selection. */
  update(bytes, setStateValue) {
    this.setStateValue = setStateValue;
    const message = readMessage(bytes);
    const { header } = message;
    const isNew = header.id !== this.header?.id;
    if (isNew) this.load(message);
    if (isNew || header.serial !== this.serial) this.select(header.selection);
    Object.assign(this, { header, serial: header.serial });
    this.schedule();
  }

  select({ side, items, head, ...how }) {
    this.how = how;
    this.locked = items.length ? { side, items } : null;
    this.setHeads(head === null ? this.everyHead() : [head]);
    if (this.locked) this.sides[side].reveal(items[0]);
    this.share();
  }

  // Pointing

  point(side, item) { this.pointItems(side, item < 0 ? null : this.unitOf(side, item)); }

  pointItems(side, items) {
    const same = this.hover?.side === side.name && this.hover.items.join() === items?.join();
    if (items ? same : !this.hover) return;
    this.hover = items && { side: side.name, items };
    this.ring = -1;
    this.share();
    this.schedule();
  }

  leave() {
    this.hover = null;
    this.ring = -1;
    this.share();
    this.schedule();
  }

  unitOf(side, item) {
    if (this.how.unit !== 'word') return [item];
    const [first, last] = side.items.word(item);
    return Array.from({ length: last - first + 1 }, (_, i) => first + i);
  }

  lock(side, item, adding) {
    if (item >= 0) this.lockItems(side, this.unitOf(side, item), adding);
  }

  lockItems(side, items, adding) {
    const chosen = this.locked?.side === side.name ? this.locked.items : [];
    const inside = items.every((i) => chosen.includes(i));
    let next = items;
    if (adding) next = inside ? chosen.filter((i) => !items.includes(i)) : [...new Set([...chosen, ...items])].sort((a, b) => a - b);
    else if (inside && chosen.length === items.length) next = [];
    this.locked = next.length ? { side: side.name, items: next } : null;
    this.share();
    this.schedule();
    this.report();
    if (this.locked) this.settle();
  }

  settle() {}

  /** Release the locked items. If nothing is locked, release the items at the keyboard's place. */
  escape(event) {
    if (event.key !== 'Escape' || !(this.locked || this.hover)) return;
    event.stopPropagation();
    if (!this.locked) {
      this.leave();
      return;
    }
    this.locked = null;
    this.share();
    this.schedule();
    this.report();
  }

  /**
   * Report the locked items and the display to the server. The count makes every click distinct.
   */
  report() {
    const { side, items } = this.locked ?? { side: 'query', items: [] };
    const head = this.active.length === 1 && this.header.heads > 1 ? this.active[0] : null;
    this.clicks += 1;
    this.setStateValue('selection', { id: this.header.id, click: this.clicks, side, items, head, ...this.how });
  }

  focusOn(side, item) {
    this.focus = { ...this.focus, [side.name]: item };
    side.reveal(item);
    this.point(side, item);
    Object.assign(this, { ring: item, ringSide: side.name });
    side.scroller.setAttribute('aria-activedescendant', side.elementId(item));
    this.schedule();
  }

  // Heads and units

  everyHead() { return Array.from({ length: this.header.heads }, (_, head) => head); }

  /** Show only this head if all are shown, else add or remove it. Null shows all heads. */
  chooseHead(head, adding) {
    const isAlone = this.active.length === this.header.heads && !adding;
    let next = this.active.includes(head) ? this.active.filter((one) => one !== head) : [...this.active, head].sort((a, b) => a - b);
    if (head === null) next = this.everyHead();
    else if (isAlone) next = [head];
    this.setHeads(next.length ? next : this.everyHead());
    this.schedule();
    this.report();
  }

  setHeads(heads) {
    this.active = heads;
    for (const side of Object.values(this.sides)) side.activeHeads = heads;
    this.legend.lines(heads);
    this.legend.explain(this.how, heads, (item) => this.nameOf('memory', [item]));
    this.controls.show(heads, this.header.heads, this.how);
  }

  chooseHow(choice) {
    this.how = { ...this.how, ...choice };
    this.setHeads(this.active);
    this.schedule();
    this.report();
  }

  chooseUnit(unit) {
    this.how = { ...this.how, unit };
    this.setHeads(this.active);
    if (this.locked && unit === 'word') {
      const side = this.sides[this.locked.side];
      const items = [...new Set(this.locked.items.flatMap((item) => this.unitOf(side, item)))].sort((a, b) => a - b);
      this.locked = { side: side.name, items };
    }
    this.schedule();
    this.report();
  }

  // Drawing

  /**
   * The items to explain: hovered here, else hovered in a linked view, else locked here, else
   * locked in a linked view.
   */
  pointed() {
    if (this.hover) return this.hover;
    const kept = this.linked && !this.linked.held ? this.linked : this.locked ?? this.linked;
    return kept ?? (this.isLed ? null : this.opening());
  }

  /** The items that the header names, which are shown if nothing is hovered or locked. */
  opening() {
    const { items = [] } = this.header.lit;
    const side = this.sides.query;
    return items.length ? { side: 'query', items: [...new Set(items.flatMap((item) => this.unitOf(side, item)))] } : null;
  }

  /**
   * Follow a linked view. While it has hovered or locked items, this view shows these or nothing.
   */
  hear(detail) {
    if (detail.from === this || !this.header?.link || detail.link !== this.header.link) return;
    this.isLed = Boolean(detail.side);
    this.follow(detail);
  }

  /** The sentence about the hovered items, without their spans. */
  scene(pointed, spans) {
    const { reading, against, mass, unit } = this.how;
    if (!pointed) return { spans };
    const attends = pointed.side === 'query';
    const runs = unit === 'word' ? this.readings.runs(pointed.items, true) : [];
    return {
      spans, mass, unit, side: pointed.side, what: this.nameOf(pointed.side, pointed.items), weighed: pointed.items.length,
      name: ([first, last]) => this.nameOf('query', Array.from({ length: last - first + 1 }, (_, i) => first + i)),
      isWord: attends && runs.length === 1 && runs[0][1] - runs[0][0] + 1 === pointed.items.length,
      isRaised: attends && against === 'average',
      isCovered: attends && against !== 'average' && reading === 'coverage' && 'several' in this.header.keep,
      isDensest: attends && against !== 'average' && reading === 'densest',
    };
  }

  /**
   * Store on the element the number of lit spans or marks, and the size of the largest top area of
   * a head.
   */
  tell(lit, name) {
    const first = this.active.flatMap((head) => lit.find((one) => one.head === head) ?? []);
    Object.assign(this.root.dataset, { [name]: lit.length, largest: Math.max(0, ...first.map((one) => +this.legend.extent(one))) });
  }

  schedule() {
    this.frame ??= requestAnimationFrame(() => { this.frame = undefined; this.draw(); });
  }

  /**
   * The outlined items on the side of `pointed`, and the keyboard's place. The other side adds the
   * lit items.
   */
  outlined(side, pointed) {
    return {
      pointed: pointed?.side === side.name && pointed !== this.locked ? pointed.items : [],
      locked: this.locked?.side === side.name ? this.locked.items : [],
      focus: this.ringSide === side.name ? this.ring ?? -1 : -1,
    };
  }
}

/**
 * Convert ranges of characters of another text to ranges of this text, by common words (see
 * `Matches`).
 */
function rangesHere(ranges, matches) {
  return ranges.flatMap(([from, to]) => matches.flatMap(([start, end, here]) => {
    const [first, last] = [Math.max(from, start), Math.min(to, end)];
    return first < last ? [[first - start + here, last - start + here]] : [];
  }));
}

/** Name a side above its text or picture, and for a screen reader. */
function entitle(side, given, isWritten) {
  const title = TITLES[given] ?? given;
  const attends = sentence('{title} attends', { title });
  const role = side.name === 'query' ? attends : sentence('{title} is attended to', { title });
  const plain = side.name === 'query' ? sentence('{title}, step by step', { title }) : sentence('{title}, what the model looks at', { title });
  const said = isWritten ? plain : role;
  const start = said.indexOf(title);
  side.title.replaceChildren(said.slice(0, start), element('b', '', title), said.slice(start + title.length));
  side.scroller.setAttribute('aria-label', role);
}

/** The drawing context of an empty canvas with a size in page pixels. */
function clearedPen(canvas, width, height) {
  const scale = globalThis.devicePixelRatio || 1;
  const [wide, tall] = [Math.round(width * scale), Math.round(height * scale)];
  if (canvas.width !== wide || canvas.height !== tall) Object.assign(canvas, { width: wide, height: tall });
  const pen = canvas.getContext('2d');
  pen.setTransform(scale, 0, 0, scale, 0, 0);
  pen.clearRect(0, 0, width, height);
  return pen;
}

/**
 * Mount a view of this class on the first element that matches the selector. Return a function that
 * removes it.
 */
function mountView(View, selector, { data, parentElement, setStateValue }) {
  const root = parentElement.querySelector(selector);
  if (!root || !data) return undefined;
  root.model ??= new View(root);
  root.model.update(data, setStateValue);
  return () => { root.model?.destroy(); root.model = undefined; };
}
