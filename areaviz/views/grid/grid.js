// The image grid: pointer and keyboard, and the link to other grids and ribbons on the page.
// areaviz/views/parts.py joins other files in front of this one. The component requests
// nothing from the server. It reports only the locked items, heads, unit and areas.

class Grid extends PointedView {
  constructor(root) {
    super(root, new GridLegend(root));
    this.controls = new GridControls(root, ...this.choosers);
    this.tools = new Tools(root, () => { this.legend.lines(this.active); this.schedule(); });
    const section = (side, kind) => root.querySelector(`[data-side=${side}][data-kind=${kind}]`);
    const chips = new Chips(section('query', 'text'), 'query');
    this.views = { text: chips, picture: new PictureView(section('query', 'picture'), 'query') };
    this.memory = new PictureView(section('memory', 'picture'), 'memory');
    for (const side of [...Object.values(this.views), this.memory]) this.listen(side);
    this.observer = new ResizeObserver(() => this.schedule());
    this.observer.observe(root);
  }

  load(message) {
    const { header } = message;
    const bitmap = this.header?.picture.digest === header.picture.digest ? this.bitmap : null;
    this.header = header;
    this.data = new GridData(message);
    this.readings = this.data.readings;
    Object.assign(this, { hover: null, linked: null, locked: null, focus: null, from: null, bitmap });
    this.root.dataset.query = header.text ? 'text' : 'picture';
    this.sides = { query: this.views[this.root.dataset.query], memory: this.memory };
    for (const side of Object.values(this.sides)) {
      side.load(this.data, header.colours);
      entitle(side, side instanceof Chips ? header.text.title : header.picture.title, header.written);
    }
    this.legend.load(this.data, header.colours);
    this.controls.load(this.data);
    this.tools.load(header);
    this.decode(message);
  }

  async decode({ header, arrays }) {
    const bitmap = await (this.bitmap ?? createImageBitmap(new Blob([arrays.picture], { type: 'image/webp' })));
    if (this.header.id !== header.id) return;
    this.bitmap = bitmap;
    this.draw();
    performance.mark('areaviz:grid');
    this.root.dataset.ready = header.id;
  }

  // Pointing

  listen(side) {
    const { scroller } = side;
    scroller.addEventListener('pointerdown', (event) => this.press(side, event));
    scroller.addEventListener('pointermove', (event) => this.move(side, side.hit(event)));
    scroller.addEventListener('pointerup', (event) => this.release(side, side.hit(event), isAdding(event)));
    for (const name of ['pointerleave', 'pointercancel']) scroller.addEventListener(name, () => this.away());
    scroller.addEventListener('keydown', (event) => this.key(side, event));
    scroller.addEventListener('focus', () => { if (scroller.matches(':focus-visible')) this.focusOn(side, this.focus?.[side.name] ?? 0); });
    scroller.addEventListener('blur', () => this.leave());
  }

  press(side, event) {
    if (event.button) return;
    const item = side.hit(event);
    if (item < 0) return;
    this.from = { side, item };
    side.scroller.setPointerCapture(event.pointerId);
    this.point(side, item);
  }

  /**
   * The items from the place of the press to the pointer. Without a press, the items at the
   * pointer.
   */
  reach(side, item) {
    if (item < 0) return null;
    const run = this.from?.side === side ? side.between(this.from.item, item) : [item];
    return [...new Set(run.flatMap((one) => this.unitOf(side, one)))];
  }

  move(side, item) { this.pointItems(side, this.reach(side, item)); }

  release(side, item, adding) {
    if (this.from?.side !== side) return;
    const items = this.reach(side, item) ?? this.reach(side, this.from.item);
    this.from = null;
    this.lockItems(side, items, adding);
  }

  away() {
    this.from = null;
    this.leave();
  }

  unitOf(side, item) { return side instanceof Chips ? super.unitOf(side, item) : [item]; }

  key(side, event) {
    const item = this.focus?.[side.name] ?? 0;
    if (event.key === 'Enter' || event.key === ' ') this.lock(side, item, isAdding(event));
    else if (MOVING_KEYS.includes(event.key)) this.focusOn(side, side.moved(item, event.key));
    else return;
    event.preventDefault();
  }

  // The link: views, ribbons included, highlight equal characters of a text and equal places of a
  // picture

  share() {
    if (!this.header.link) return;
    const { side, items } = this.hover ?? this.locked ?? { side: null, items: [] };
    const { text } = this.data;
    const words = side === 'query' && text;
    const ranges = words ? items.map((item) => [text.start[item], text.end[item]]) : [];
    const boxes = words ? [] : items.map((cell) => this.data.pixels(this.data.areaOf(cell)));
    const what = { side, raw: words ? text.raw : undefined, ranges, digest: this.header.picture.digest, boxes };
    globalThis.dispatchEvent(new CustomEvent(LINK_EVENT, { detail: { from: this, link: this.header.link, held: !this.hover, ...what } }));
  }

  follow({ side, raw, ranges, digest, boxes, held }) {
    const { text, header } = this.data;
    let found = null;
    const matches = this.header.matches?.[raw];
    if (text && raw === text.raw && ranges.length) found = { side: 'query', items: this.sides.query.at(ranges) };
    else if (text && matches && ranges.length) found = { side: 'query', items: this.sides.query.at(rangesHere(ranges, matches)) };
    else if (boxes?.length && digest === header.picture.digest && !(side === 'query' && text)) found = { side, items: this.sides[side].at(boxes) };
    this.linked = found?.items.length ? { ...found, held } : null;
    this.schedule();
  }

  // Drawing

  draw() {
    if (!this.data || !this.active) return;
    const { many, overlap, strength, warm } = this.tools.settings;
    const pointed = this.pointed();
    const isSigned = this.how.against === 'average';
    const deep = this.active.length > 1 ? many : Math.max(many, this.header.lit.listed); // the legend lists more marks than the picture shows
    const marks = pointed ? this.marksOf(pointed, this.how, deep) : [];
    const drawn = isSigned && pointed?.side === 'query' ? [] : marks.filter(({ rank }) => rank < many);
    const heat = pointed && this.data.heat(pointed.side, pointed.items, this.active, isSigned);
    for (const side of [this.memory, this.sides.query]) { // the canvas is measured before words change the page
      const lit = pointed?.side === side.name ? { marks: [], heat: null } : { marks: drawn, heat };
      side.show({ ...lit, ...this.outlined(side, pointed) }, this.bitmap, { strength, warm, isSigned });
    }
    this.tools.show(heat, pointed?.side, isSigned);
    const listed = pointed ? [...marks, ...this.marksOfOthers(pointed)] : marks;
    this.legend.show({ ...this.scene(pointed, marks), listed, ...(pointed ? this.beside(pointed, marks) : {}) });
    this.tell(drawn, 'marks');
  }

  marksOf({ side, items }, how, many) { return this.data.marks(side, items, this.active, how, many, this.tools.settings.overlap); }

  /** The heaviest marks of the heads that are not drawn, for the legend. */
  marksOfOthers({ side, items }) {
    const others = this.everyHead().filter((head) => !this.active.includes(head));
    return this.data.marks(side, items, others, this.how, 1, this.tools.settings.overlap);
  }

  nameOf(side, items) { return this.data.name(side, items); }

  /** The values of other displays that the sentence needs, as in the ribbon. */
  beside(pointed, marks) {
    if (pointed.side !== 'query' || this.how.reading !== 'heaviest') return {};
    const raised = () => heaviest(this.marksOf(pointed, { ...this.how, against: 'average' }, 1));
    if (this.how.areas !== 'several' || !this.data.hasSeveral) return { raised };
    const top = heaviest(marks);
    const any = top && this.marksOf(pointed, { ...this.how, areas: 'any' }, 1).filter(({ head }) => head === top.head);
    return { raised, alone: any && { ...heaviest(any) } };
  }
}

function mount(given) { return mountView(Grid, '.grid', given); }
