// The token ribbon: pointer and keyboard, and the link to other ribbons on the page.
// areaviz/views/parts.py lists the files that are joined in front of this one. Pointing sends
// nothing to the server. The server receives only what is pinned, and the chosen heads, unit and
// display.

const DRAWN_OF_MANY = 3; // number of heads with bars if more than `MOST_BARS` are chosen

class Ribbon extends PointedView {
  constructor(root) {
    super(root, new Legend(root));
    this.controls = new Controls(root, ...this.choosers);
    this.pen = document.createElement('canvas').getContext('2d');
    this.widths = new Map();
    this.painter = new Painter(root.querySelector('.threads'));
    this.sides = Object.fromEntries(Object.keys(OTHER).map((name) => {
      const side = new Side(root.querySelector(`[data-side=${name}]`), name);
      this.listen(side);
      return [name, side];
    }));
    this.play = new Play(root, {
      story: () => this.story(), measure: (text, size) => this.measure(text, size), onClose: () => this.fit(true),
    });
    document.fonts.addEventListener('loadingdone', () => this.fit(true), this.listeners);
    this.observer = new ResizeObserver(() => this.fit(false));
    this.observer.observe(root);
  }

  load(message) {
    this.play.close();
    this.header = message.header;
    this.attention = new Attention(message);
    this.readings = this.attention.readings;
    Object.assign(this, { hover: null, linked: null, locked: null, focus: null });
    const { heads, colours, height } = this.header;
    const texts = Object.values(this.attention.sides);
    for (const side of Object.values(this.sides)) {
      const items = this.attention.sides[side.name];
      side.load(items, heads);
      entitle(side, items.title, this.header.written);
    }
    this.tallest = Math.max(height / 2, 60);
    // The unit cannot be chosen if every item is a word or several words.
    const splits = texts.some((items) => items.words.length < items.count);
    const plural = this.attention.sides.memory.level === 'token' ? 'tokens' : 'characters';
    this.legend.load(this.header, colours, this.readings, plural);
    this.legend.mention({ hasUnsure: texts.some((items) => items.unsure.length), hasHidden: texts.some((items) => items.hidden.length) });
    this.controls.load(this.attention.sides.query.level, plural, this.attention.hasSeveral, this.readings, splits);
    this.play.opener.hidden = !this.header.lit.items?.length;
    this.fit(true);
    performance.mark('areaviz:ribbon');
    this.root.dataset.ready = this.header.id;
  }

  // Layout

  /**
   * Lay out both texts again if the width has changed. `isChanged` means that something else has
   * changed.
   */
  fit(isChanged) {
    const width = this.root.clientWidth;
    if (!this.header || (!isChanged && width === this.width)) return;
    if (this.play.isOpen) {
      this.play.lay();
      return;
    }
    this.family = getComputedStyle(this.root).fontFamily;
    this.widths.clear();
    const measure = (text, size) => this.measure(text, size);
    this.hasSeams = this.chosen?.unit === 'item';
    const placed = Object.values(this.sides).map((side) => side.resize(this.tallest, measure, this.hasSeams));
    if (placed.every(Boolean)) this.width = width;
    this.schedule();
  }

  /** The width of a text in pixels. */
  measure(text, size) {
    const key = `${size} ${text}`;
    if (!this.widths.has(key)) {
      this.pen.font = `${size}px ${this.family}`;
      this.widths.set(key, this.pen.measureText(text).width);
    }
    return this.widths.get(key);
  }

  /**
   * Set the heads. If the unit has changed, lay out the texts again: in the unit of pieces, seams
   * in a word take space.
   */
  setHeads(heads) {
    super.setHeads(heads);
    this.legend.mention({ drawsFew: heads.length > MOST_BARS, isAlone: heads.length === 1 });
    if (this.hasSeams !== (this.how.unit === 'item')) this.fit(true);
  }

  // Pointing

  listen(side) {
    const { scroller } = side;
    scroller.addEventListener('pointermove', (event) => this.point(side, side.hit(event)));
    scroller.addEventListener('pointerdown', (event) => { if (event.pointerType === 'touch') this.point(side, side.hit(event)); });
    for (const name of ['pointerleave', 'pointercancel']) scroller.addEventListener(name, () => this.point(side, -1));
    scroller.addEventListener('click', (event) => this.lock(side, side.hit(event), isAdding(event)));
    scroller.addEventListener('scroll', () => { side.render(); this.schedule(); }, { passive: true });
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

  // The link: ribbons of one group highlight equal characters of a text

  share() {
    if (!this.header.link) return;
    const { side, items } = this.hover ?? this.locked ?? { side: null, items: [] };
    const text = side && this.attention.sides[side];
    const ranges = items.map((item) => [text.start[item], text.end[item]]);
    const detail = { from: this, link: this.header.link, side, raw: text?.raw, ranges, held: !this.hover };
    globalThis.dispatchEvent(new CustomEvent(LINK_EVENT, { detail }));
  }

  follow({ side, raw, ranges, held }) {
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

  /**
   * Return what Play shows: how the heaviest area of the pinned or lit items gets its attention.
   * Null without an area.
   */
  story() {
    const { query, memory } = this.sides;
    const how = { ...this.how, reading: 'heaviest', against: 'nothing' };
    const pointed = this.pointed() ?? this.opening();
    const asking = pointed?.side === 'memory' ? heaviest(this.spansOf(pointed, how)) : null;
    const items = asking ? this.unitOf(query, asking.start) : pointed?.items ?? [];
    const spans = items.length ? this.spansOf({ side: 'query', items }, how) : [];
    if (!spans.length) return null;
    const scene = { ...this.scene({ side: 'query', items }, spans), other: memory.items };
    const span = heaviest(this.legend.groups(scene)[0].tops);
    this.play.figure.style.setProperty('--head', this.header.colours[span.head % this.header.colours.length]);
    return playStory({ query, memory, items, span, scene, legend: this.legend, hasAreas: this.attention.hasSeveral, keys: this.header.keys });
  }

  nameOf(side, items) {
    const text = this.attention.sides[side];
    const names = text.runs(items).map(([first, last]) => quoted(text.run(first, last)));
    return names.length < 2 ? names.join('') : sentence('{first} and {last}', { first: names.slice(0, -1).join(', '), last: names.at(-1) });
  }

  draw() {
    if (!this.width) return;
    this.root.classList.toggle('dark', this.isDark());
    const pointed = this.pointed();
    const listed = pointed ? this.attention.spans(pointed.side, pointed.items, this.everyHead(), this.how) : [];
    const spans = listed.filter(({ head }) => this.active.includes(head));
    const isSigned = pointed?.side === 'query' && this.how.against === 'average';
    const drawn = this.drawnHeads(spans);
    const bars = isSigned ? [] : this.barsOf(spans, drawn);
    for (const side of Object.values(this.sides)) {
      const isOwn = !pointed || pointed.side === side.name;
      const tints = isOwn ? new Map() : isSigned ? this.signedTints(pointed) : coverageTints(bars, drawn.length);
      side.show({ tints, ...this.outlined(side, pointed), pointed: pointed?.side === side.name ? pointed.items : [] });
    }
    this.painter.draw(this.sides, { pointed, bars }, this.header.colours);
    this.legend.show({ ...this.scene(pointed, spans), listed, drawn, ...(pointed ? this.beside(pointed, spans) : {}) });
    this.tell(spans, 'spans');
  }

  isDark() {
    this.pen.fillStyle = getComputedStyle(this.root).getPropertyValue('--st-background-color').trim() || '#ffffff';
    const [red, green, blue] = this.pen.fillStyle.match(/[0-9a-f]{2}/gi).map((part) => parseInt(part, 16));
    return red + green + blue < 384;
  }

  /**
   * Return the heads that get bars: all active heads, or the three with the heaviest spans if all
   * would be unreadable.
   */
  drawnHeads(spans) {
    if (this.active.length <= MOST_BARS) return this.active;
    const tops = this.active.flatMap((head) => spans.find((span) => span.head === head) ?? []);
    return tops.sort((a, b) => b.weight - a.weight).slice(0, DRAWN_OF_MANY).map(({ head }) => head).sort((a, b) => a - b);
  }

  /**
   * Return the spans that get bars, heaviest first. Each head has a lane. If there is only one
   * head, each span has one.
   */
  barsOf(spans, drawn) {
    const onlyTops = drawn.length > 1 && this.how.reading === 'heaviest';
    return drawn.flatMap((head, lane) => {
      const own = spans.filter((span) => span.head === head).slice(0, onlyTops ? 1 : MOST_BARS);
      return own.map((span, rank) => ({
        ...span, share: span.weight, lane: drawn.length > 1 ? lane : rank, isFirst: drawn.length === 1 || rank === 0, isPale: rank > 0,
      }));
    });
  }

  /**
   * Return the colours of items with more or less attention than on average, on the side that is
   * attended to.
   */
  signedTints({ side, items }) {
    const { signed, steepest } = this.header;
    const tints = new Map();
    this.attention.against(side, items, this.active).forEach((value, item) => {
      const deep = Math.min(Math.abs(value) / steepest, 1);
      if (deep >= 0.02) tints.set(item, { depth: 0.6 * deep, colour: signed[value > 0 ? 1 : 0] });
    });
    return tints;
  }

  /**
   * Return what the sentence in the legend needs from other readings: `raised`, the heaviest area
   * against the average, and `alone`, the heaviest area of any size.
   */
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

/** Return the depth of each chip's tint: the mean over heads of the weight of the bars above it. */
function coverageTints(bars, heads) {
  const received = new Map();
  for (const { start, length, share, isFirst } of bars) {
    for (let item = start; isFirst && item < start + length; item += 1) received.set(item, (received.get(item) ?? 0) + share / heads);
  }
  return new Map(Array.from(received, ([item, weight]) => [item, { depth: 0.08 + 0.26 * Math.min(weight, 1), isStrong: weight > 0.2 }]));
}

function mount(given) { return mountView(Ribbon, '.ribbon', given); }
