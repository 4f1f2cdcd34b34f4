// The token ribbon: pointer and keyboard, and the link to other ribbons on the page. The parts above are joined
// with this one by areaviz/components/parts.py. The server is asked nothing; it gets only what is locked, and the heads,
// unit and areas chosen.

class Ribbon extends PointedView {
  constructor(root) {
    super(root, new Legend(root));
    this.controls = new Controls(root, ...this.choosers);
    this.pen = document.createElement('canvas').getContext('2d');
    this.sides = Object.fromEntries(Object.keys(OTHER).map((name) => {
      const side = new Side(root.querySelector(`[data-side=${name}]`), name);
      this.listen(side);
      return [name, side];
    }));
    document.fonts.addEventListener('loadingdone', () => this.fit(true), this.listeners);
    this.observer = new ResizeObserver(() => this.fit(false));
    this.observer.observe(root);
  }

  load(message) {
    this.header = message.header;
    this.attention = new Attention(message);
    this.readings = this.attention.readings;
    Object.assign(this, { hover: null, linked: null, locked: null, focus: null });
    const { heads, colours, height } = this.header;
    for (const side of Object.values(this.sides)) {
      const items = this.attention.sides[side.name];
      side.load(items, heads, this.header);
      entitle(side, items.title);
    }
    this.tallest = Math.max(height / 2, 60);
    this.controls.load(heads, this.attention.sides.query.level, colours, this.attention.hasSeveral, this.readings);
    // Where every item is a word of its own, or more than one, there is nothing to switch.
    const splits = Object.values(this.attention.sides).some((items) => items.words.length < items.count);
    if (!splits) this.controls.units.replaceChildren();
    const plural = this.attention.sides.memory.level === 'token' ? 'tokens' : 'characters';
    this.legend.load(this.header, colours, this.readings, plural);
    this.fit(true);
    performance.mark('areaviz:ribbon');
    this.root.dataset.ready = this.header.id;
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

  settle() {
    const spans = this.spansOf(this.locked);
    const top = heaviest(spans);
    if (top) this.sides[OTHER[this.locked.side]].reveal(top.start);
  }

  // Keyboard

  key(side, event) {
    const item = this.focus?.[side.name] ?? this.firstInView(side);
    if (event.key === 'Enter' || event.key === ' ') this.lock(side, item, isAdding(event));
    else if (MOVING_KEYS.includes(event.key)) this.focusOn(side, this.moved(side, item, event.key));
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

  firstInView(side) {
    return side.layout.firsts[Math.ceil(side.scroller.scrollTop / side.layout.rowHeight)] ?? 0;
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
    const matches = this.header.matches?.[raw];
    const same = [side, OTHER[side]].find((candidate) => candidate && this.attention.sides[candidate].raw === raw);
    const name = same ?? (matches && side);
    const here = same ? ranges : rangesHere(ranges, matches ?? []);
    const items = name ? [...new Set(here.flatMap((range) => this.attention.sides[name].at(range)))] : [];
    this.linked = items.length ? { side: name, items, held } : null;
    this.schedule();
  }

  // Drawing

  spansOf({ side, items }, how = this.how) { return this.attention.spans(side, items, this.active, how); }

  nameOf(side, items) {
    const text = this.attention.sides[side];
    return text.runs(items).map(([first, last]) => quoted(text.run(first, last))).join(', ');
  }

  draw() {
    if (!this.width) return;
    const pointed = this.pointed();
    const spans = pointed ? this.spansOf(pointed) : [];
    const signed = pointed && this.how.against === 'average' ? this.attention.against(pointed.side, pointed.items, this.active) : null;
    for (const side of Object.values(this.sides)) {
      const lit = pointed?.side === side.name ? { spans: [], signed: null } : { spans: signed ? [] : spans, signed };
      side.show({ ...lit, ...this.outlined(side, pointed) });
    }
    this.legend.show({ ...this.scene(pointed, spans), ...(pointed ? this.beside(pointed, spans) : {}) });
    this.tell(spans, 'spans');
  }

  /** What the sentence needs of other readings: the heaviest single item, and what stands out against the average. */
  beside({ side, items }, spans) {
    const other = this.attention.sides[OTHER[side]];
    if (side !== 'query' || this.how.reading !== 'heaviest') return { other };
    const raised = () => heaviest(this.spansOf({ side, items }, { ...this.how, against: 'average' }));
    if (this.how.areas !== 'several' || !this.attention.hasSeveral) return { other, raised };
    const top = heaviest(spans);
    const any = top && this.spansOf({ side, items }, { ...this.how, areas: 'any' }).filter(({ head }) => head === top.head);
    return { other, raised, alone: any && { ...heaviest(any) } };
  }
}

function mount(given) { return mountView(Ribbon, '.ribbon', given); }
