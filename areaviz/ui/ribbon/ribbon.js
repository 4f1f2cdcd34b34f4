// The token ribbon: state, pointer and keyboard, and the link to other ribbons on the page. The parts above are joined
// with this one by areaviz/ui/ribbon/component.py. Nothing asks the server; only a locked selection is told to it.

const LINK_EVENT = 'areaviz:ribbon';
const OTHER = { query: 'memory', memory: 'query' };
const ARROWS = ['ArrowLeft', 'ArrowRight', 'ArrowUp', 'ArrowDown', 'Home', 'End'];

class Ribbon {
  constructor(root) {
    this.root = root;
    const chosen = [(head, adding) => this.chooseHead(head, adding), (unit) => this.chooseUnit(unit), (areas) => this.chooseAreas(areas)];
    this.controls = new Controls(root, ...chosen);
    this.legend = new Legend(root);
    this.pen = document.createElement('canvas').getContext('2d');
    this.sides = Object.fromEntries(Object.keys(OTHER).map((name) => {
      const side = new Side(root.querySelector(`[data-side=${name}]`), name);
      this.listen(side);
      return [name, side];
    }));
    this.clicks = 0;
    this.listeners = new AbortController();
    root.addEventListener('keydown', (event) => this.escape(event));
    globalThis.addEventListener(LINK_EVENT, (event) => this.follow(event.detail), this.listeners);
    document.fonts.addEventListener('loadingdone', () => this.fit(true), this.listeners);
    this.observer = new ResizeObserver(() => this.fit(false));
    this.observer.observe(root);
  }

  destroy() {
    this.listeners.abort();
    this.observer.disconnect();
    cancelAnimationFrame(this.frame);
  }

  /** Take what the server sent: new data, or only another selection. */
  update(bytes, tell) {
    this.tell = tell;
    const message = readMessage(bytes);
    const { header } = message;
    const fresh = header.id !== this.header?.id;
    if (fresh) this.load(message);
    if (fresh || header.serial !== this.serial) this.select(header.selection);
    Object.assign(this, { header, serial: header.serial });
    this.schedule();
  }

  load(message) {
    this.header = message.header;
    this.attention = new Attention(message);
    Object.assign(this, { hover: null, linked: null, locked: null, focus: null });
    const { heads, colours, height } = this.header;
    for (const side of Object.values(this.sides)) {
      const items = this.attention.sides[side.name];
      side.load(items, heads, colours);
      const role = side.name === 'query' ? 'attends' : 'is attended to';
      side.title.replaceChildren(element('b', '', items.title), ` ${role}`);
      side.scroller.setAttribute('aria-label', `${items.title}, ${role}`);
    }
    this.tallest = Math.max(height / 2, 60);
    this.controls.load(heads, this.attention.sides.query.level, colours, this.attention.hasSeveral);
    this.legend.load(this.header, colours);
    this.fit(true);
    performance.mark('areaviz:ribbon');
    this.root.dataset.ready = this.header.id;
  }

  select({ side, items, head, unit, areas }) {
    Object.assign(this, { unit, areas });
    this.locked = items.length ? { side, items } : null;
    this.setHeads(head === null ? this.everyHead() : [head]);
    if (this.locked) this.sides[side].reveal(items[0]);
    this.share();
  }

  // Layout

  fit(anew) {
    const width = this.root.clientWidth;
    if (!this.header || (!anew && width === this.width)) return;
    const family = getComputedStyle(this.root).fontFamily;
    const widths = new Map();
    const sizes = { '': 17, chip: 15, symbol: 12 };
    const measure = (text, kind) => {
      const key = `${kind}${text}`;
      if (!widths.has(key)) {
        this.pen.font = `${sizes[kind]}px ${family}`;
        widths.set(key, this.pen.measureText(text).width);
      }
      return widths.get(key);
    };
    const placed = Object.values(this.sides).map((side) => side.resize(this.tallest, measure));
    if (placed.every(Boolean)) this.width = width;
    this.schedule();
  }

  // Pointing

  listen(side) {
    const { scroller } = side;
    scroller.addEventListener('pointermove', (event) => this.point(side, side.hit(event)));
    scroller.addEventListener('pointerdown', (event) => { if (event.pointerType === 'touch') this.point(side, side.hit(event)); });
    for (const name of ['pointerleave', 'pointercancel']) scroller.addEventListener(name, () => this.point(side, -1));
    scroller.addEventListener('click', (event) => this.lock(side, side.hit(event), isAdding(event)));
    scroller.addEventListener('scroll', () => { side.render(); }, { passive: true });
    scroller.addEventListener('keydown', (event) => this.key(side, event));
    scroller.addEventListener('focus', () => { if (scroller.matches(':focus-visible')) this.focusOn(side, this.focus?.[side.name] ?? this.firstInView(side)); });
    scroller.addEventListener('blur', () => this.leave());
  }

  point(side, item) {
    const items = item < 0 ? null : this.unitOf(side, item);
    if (item < 0 ? !this.hover : this.hover?.side === side.name && this.hover.items[0] === items[0]) return;
    this.hover = items && { side: side.name, items };
    this.ring = -1;
    this.share();
    this.schedule();
  }

  unitOf(side, item) {
    if (this.unit !== 'word') return [item];
    const [first, last] = side.items.word(item);
    return Array.from({ length: last - first + 1 }, (_, i) => first + i);
  }

  lock(side, item, adding) {
    if (item < 0) return;
    const items = this.unitOf(side, item);
    const chosen = this.locked?.side === side.name ? this.locked.items : [];
    const inside = items.every((i) => chosen.includes(i));
    let next = items;
    if (adding) next = inside ? chosen.filter((i) => !items.includes(i)) : [...new Set([...chosen, ...items])].sort((a, b) => a - b);
    else if (inside && chosen.length === items.length) next = [];
    this.locked = next.length ? { side: side.name, items: next } : null;
    this.share();
    this.schedule();
    this.report();
    if (this.locked) this.revealStrongest();
  }

  revealStrongest() {
    const spans = this.spansOf(this.locked);
    const top = spans.reduce((best, span) => (best && best.weight >= span.weight ? best : span), null);
    if (top) this.sides[OTHER[this.locked.side]].reveal(top.start);
  }

  escape(event) {
    if (event.key !== 'Escape' || !this.locked) return;
    event.stopPropagation();
    this.locked = null;
    this.share();
    this.schedule();
    this.report();
  }

  /** Tell the server what is locked; the count makes every click distinct. */
  report() {
    const { side, items } = this.locked ?? { side: 'query', items: [] };
    const head = this.active.length === 1 && this.header.heads > 1 ? this.active[0] : null;
    this.clicks += 1;
    this.tell('selection', { id: this.header.id, click: this.clicks, side, items, head, unit: this.unit, areas: this.areas });
  }

  // Keyboard

  key(side, event) {
    const item = this.focus?.[side.name] ?? this.firstInView(side);
    if (event.key === 'Enter' || event.key === ' ') this.lock(side, item, isAdding(event));
    else if (ARROWS.includes(event.key)) this.focusOn(side, this.moved(side, item, event.key));
    else return;
    event.preventDefault();
  }

  moved(side, item, key) {
    if (key === 'Home') return 0;
    if (key === 'End') return side.items.count - 1;
    if (key === 'ArrowUp' || key === 'ArrowDown') return side.layout.vertical(item, key === 'ArrowUp' ? -1 : 1);
    const forward = (key === 'ArrowRight') !== side.items.rightToLeft;
    const edge = this.unitOf(side, item).at(forward ? -1 : 0);
    return Math.min(Math.max(edge + (forward ? 1 : -1), 0), side.items.count - 1);
  }

  focusOn(side, item) {
    this.focus = { ...this.focus, [side.name]: item };
    side.reveal(item);
    this.point(side, item);
    Object.assign(this, { ring: item, ringSide: side.name });
    side.scroller.setAttribute('aria-activedescendant', side.elementId(item));
    this.schedule();
  }

  firstInView(side) {
    return side.layout.firsts[Math.ceil(side.scroller.scrollTop / side.layout.rowHeight)] ?? 0;
  }

  leave() {
    this.hover = null;
    this.ring = -1;
    this.share();
    this.schedule();
  }

  // Heads and units

  everyHead() { return Array.from({ length: this.header.heads }, (_, head) => head); }

  chooseHead(head, adding) {
    let next = head === null ? this.everyHead() : [head];
    if (adding && head !== null) {
      const several = this.active.length === this.header.heads ? [] : this.active;
      next = several.includes(head) ? several.filter((h) => h !== head) : [...several, head].sort((a, b) => a - b);
    } else if (this.active.length === 1 && this.active[0] === head) next = this.everyHead();
    this.setHeads(next.length ? next : this.everyHead());
    this.schedule();
    if (this.locked) this.report();
  }

  setHeads(heads) {
    this.active = heads;
    for (const side of Object.values(this.sides)) side.activeHeads = heads;
    this.legend.lines(heads);
    this.controls.show(heads, this.header.heads, this.unit, this.areas);
  }

  chooseAreas(areas) {
    this.areas = areas;
    this.setHeads(this.active);
    this.schedule();
    if (this.locked) this.report();
  }

  chooseUnit(unit) {
    this.unit = unit;
    this.setHeads(this.active);
    if (this.locked && unit === 'word') {
      const side = this.sides[this.locked.side];
      const items = [...new Set(this.locked.items.flatMap((item) => this.unitOf(side, item)))].sort((a, b) => a - b);
      this.locked = { side: side.name, items };
    }
    this.schedule();
    if (this.locked) this.report();
  }

  // The link: ribbons of one group light up the same characters of the same text

  share() {
    if (!this.header.link) return;
    const { side, items } = this.hover ?? this.locked ?? { side: null, items: [] };
    const text = side && this.attention.sides[side];
    const ranges = items.map((item) => [text.start[item], text.end[item]]);
    const detail = { from: this, link: this.header.link, side, raw: text?.raw, ranges, held: !this.hover };
    globalThis.dispatchEvent(new CustomEvent(LINK_EVENT, { detail }));
  }

  follow({ from, link, side, raw, ranges, held }) {
    if (from === this || !this.header?.link || link !== this.header.link) return;
    const name = [side, OTHER[side]].find((candidate) => candidate && this.attention.sides[candidate].raw === raw);
    const items = name ? [...new Set(ranges.flatMap((range) => this.attention.sides[name].at(range)))] : [];
    this.linked = items.length ? { side: name, items, held } : null;
    this.schedule();
  }

  // Drawing

  /** What is looked at now: the own pointer, then another ribbon's, then the own lock, then another ribbon's. */
  pointed() {
    if (this.hover) return this.hover;
    return this.linked && !this.linked.held ? this.linked : this.locked ?? this.linked;
  }

  schedule() {
    this.frame ??= requestAnimationFrame(() => { this.frame = undefined; this.draw(); });
  }

  spansOf({ side, items }) { return this.attention.spans(side, items, this.active, this.unit === 'word', this.areas === 'several'); }

  draw() {
    if (!this.width) return;
    const pointed = this.pointed();
    const spans = pointed ? this.spansOf(pointed) : [];
    for (const side of Object.values(this.sides)) {
      const own = pointed?.side === side.name;
      const locked = this.locked?.side === side.name ? this.locked.items : [];
      const focus = this.ringSide === side.name ? this.ring ?? -1 : -1;
      side.show({ spans: pointed && !own ? spans : [], pointed: own && pointed !== this.locked ? pointed.items : [], locked, focus });
    }
    const items = pointed && this.attention.sides[pointed.side];
    const what = pointed && items.runs(pointed.items).map(([first, last]) => quoted(items.run(first, last))).join(', ');
    this.legend.show(pointed?.side, what, spans, pointed && this.attention.sides[OTHER[pointed.side]], pointed?.items.length);
    this.root.dataset.spans = spans.length;
  }
}

export default function ({ data, parentElement, setStateValue }) {
  const root = parentElement.querySelector('.ribbon');
  if (!root || !data) return undefined;
  root.model ??= new Ribbon(root);
  root.model.update(data, setStateValue);
  return () => { root.model?.destroy(); root.model = undefined; };
}
