// What every view that is pointed at shares: what is hovered, linked and locked, which heads and areas are looked at,
// and when to draw. A view adds `load(message)`, `share()`, `draw()` and `sides`; `settle()` may follow a new lock up.

const LINK_EVENT = 'areaviz:ribbon';
const OTHER = { query: 'memory', memory: 'query' };

class Looking {
  constructor(root, legend) {
    this.root = root;
    this.legend = legend;
    this.clicks = 0;
    this.listeners = new AbortController();
    root.addEventListener('keydown', (event) => this.escape(event));
    globalThis.addEventListener(LINK_EVENT, (event) => this.follow(event.detail), this.listeners);
  }

  /** What the controls call: chosen heads, unit and areas. */
  get choosers() {
    return [(head, adding) => this.chooseHead(head, adding), (unit) => this.chooseUnit(unit), (areas) => this.chooseAreas(areas)];
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

  select({ side, items, head, unit, areas }) {
    Object.assign(this, { unit, areas });
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
    if (this.unit !== 'word') return [item];
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

  escape(event) {
    if (event.key !== 'Escape' || !this.locked) return;
    event.stopPropagation();
    this.locked = null;
    this.share();
    this.schedule();
    this.report();
  }

  /** Tell the server what is locked, if anything, and seen how; the count makes every click distinct. */
  report() {
    const { side, items } = this.locked ?? { side: 'query', items: [] };
    const head = this.active.length === 1 && this.header.heads > 1 ? this.active[0] : null;
    this.clicks += 1;
    this.tell('selection', { id: this.header.id, click: this.clicks, side, items, head, unit: this.unit, areas: this.areas });
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

  chooseHead(head, adding) {
    let next = head === null ? this.everyHead() : [head];
    if (adding && head !== null) {
      const several = this.active.length === this.header.heads ? [] : this.active;
      next = several.includes(head) ? several.filter((h) => h !== head) : [...several, head].sort((a, b) => a - b);
    } else if (this.active.length === 1 && this.active[0] === head) next = this.everyHead();
    this.setHeads(next.length ? next : this.everyHead());
    this.schedule();
    this.report();
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
    this.report();
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
    this.report();
  }

  // Drawing

  /** What is looked at now: the own pointer, then another view's, then the own lock, then another view's. */
  pointed() {
    if (this.hover) return this.hover;
    return this.linked && !this.linked.held ? this.linked : this.locked ?? this.linked;
  }

  schedule() {
    this.frame ??= requestAnimationFrame(() => { this.frame = undefined; this.draw(); });
  }
}
