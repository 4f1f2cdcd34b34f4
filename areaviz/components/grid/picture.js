// A side of the grid that is a picture. It has a canvas with the picture, which is drawn once, a
// canvas with all marks, and over them an element for every cell, for keyboard and screen reader.

const WIDEST = 480;
const TALLEST = 480;
const STEPS = [1, 2, 5, 10]; // possible steps between the numbers at the edges
const LEAST_PITCH = 18; // pixels from one number to the next
const LEAST = 96; // px; a smaller picture is enlarged, so that users can point at its cells

class PictureView {
  constructor(section, name) {
    Object.assign(this, { section, name });
    this.title = section.querySelector('.title');
    this.view = section.querySelector('.view');
    [this.below, this.above] = section.querySelectorAll('canvas');
    this.scroller = section.querySelector('.scroller');
    this.rulers = { columns: section.querySelector('.across'), rows: section.querySelector('.down') };
    this.scene = { marks: [], heat: null, pointed: [], locked: [], focus: -1 };
  }

  load(data, colours) {
    Object.assign(this, { data, colours, count: data.cells });
    const [width, height] = data.header.picture.size;
    const ratio = Math.min(Math.max(width / height, LEAST / TALLEST), WIDEST / LEAST);
    this.section.closest('.grid').style.setProperty('--widest', `${Math.min(WIDEST, TALLEST * ratio)}px`);
    this.view.style.aspectRatio = ratio;
    this.scroller.replaceChildren(...Array.from({ length: data.cells }, (_, cell) => this.option(cell, width, height)));
    this.scene = { marks: [], heat: null, pointed: [], locked: [], focus: -1 };
  }

  option(cell, width, height) {
    const made = element('span', 'cell');
    const [left, top, right, bottom] = this.data.pixels(this.data.areaOf(cell));
    made.id = this.elementId(cell);
    made.setAttribute('role', 'option');
    made.setAttribute('aria-label', areaText(this.data.areaOf(cell)));
    made.setAttribute('aria-selected', 'false');
    const box = { left: left / width, top: top / height, width: (right - left) / width, height: (bottom - top) / height };
    for (const [side, part] of Object.entries(box)) made.style[side] = `${part * 100}%`;
    return made;
  }

  elementId(cell) { return `${this.name}-${cell}`; }

  reveal() {}

  /**
   * Write row and column numbers at the middles of cells, counted from 1. If cells are narrow, some
   * have none.
   */
  number(width, height) {
    const { rows, columns } = this.data;
    const size = this.data.header.picture.size;
    const middle = (cell, side) => {
      const box = this.data.pixels(this.data.areaOf(cell));
      return `${(50 * (box[side] + box[side + 2])) / size[side]}%`;
    };
    const ticks = (count, pitch, tick) => {
      const step = STEPS.find((one) => one * pitch >= LEAST_PITCH) ?? STEPS.at(-1);
      const shown = Array.from({ length: count }, (_, at) => at).filter((at) => (at + 1) % step === 0);
      return shown.map((at) => { const made = element('span', '', `${at + 1}`); Object.assign(made.style, tick(at)); made.dataset.at = at; return made; });
    };
    this.rulers.columns.replaceChildren(...ticks(columns, width / columns, (at) => ({ left: middle(at, 0) })));
    this.rulers.rows.replaceChildren(...ticks(rows, height / rows, (at) => ({ top: middle(at * columns, 1) })));
  }

  /** Make the row and column numbers of the heaviest area, or of the hovered cells, bold. */
  find({ marks, pointed }) {
    const top = heaviest(marks.filter(({ area }) => area));
    const area = top?.area ?? (pointed.length ? this.data.box(pointed) : null);
    const within = (at, from, count) => Boolean(area) && at >= from && at < from + count;
    for (const tick of this.rulers.columns.children) tick.classList.toggle('found', within(+tick.dataset.at, area?.left, area?.width));
    for (const tick of this.rulers.rows.children) tick.classList.toggle('found', within(+tick.dataset.at, area?.top, area?.height));
  }

  /** The cell under a pointer, or the nearest cell if the pointer is outside. */
  hit(event) {
    const box = this.scroller.getBoundingClientRect();
    const [width, height] = this.data.header.picture.size;
    const x = ((event.clientX - box.left) / box.width) * width;
    const y = ((event.clientY - box.top) / box.height) * height;
    const away = (cell) => {
      const [left, top, right, bottom] = this.data.pixels(this.data.areaOf(cell));
      return Math.max(left - x, x - right, 0) + Math.max(top - y, y - bottom, 0);
    };
    let best = 0;
    for (let cell = 1; cell < this.count; cell += 1) if (away(cell) < away(best)) best = cell;
    return best;
  }

  /** The cells of the smallest box that contains two cells. */
  between(one, other) { return this.data.cellsOf(this.data.box([one, other])); }

  moved(cell, key) {
    const { columns } = this.data;
    if (key === 'Home') return 0;
    if (key === 'End') return this.count - 1;
    if (key === 'ArrowUp' || key === 'ArrowDown') {
      const next = cell + (key === 'ArrowUp' ? -columns : columns);
      return next >= 0 && next < this.count ? next : cell;
    }
    return Math.min(Math.max(cell + (key === 'ArrowRight' ? 1 : -1), 0), this.count - 1);
  }

  /**
   * The cells under `boxes` (in pixels): cells with their centre in a box, and cells that contain a
   * box's centre.
   */
  at(boxes) {
    const holds = ([left, top, right, bottom], [x, y]) => left <= x && x < right && top <= y && y < bottom;
    const middle = ([left, top, right, bottom]) => [(left + right) / 2, (top + bottom) / 2];
    const cells = Array.from({ length: this.count }, (_, cell) => cell);
    return cells.filter((cell) => {
      const own = this.data.pixels(this.data.areaOf(cell));
      return boxes.some((box) => holds(box, middle(own)) || holds(own, middle(box)));
    });
  }

  show(scene, bitmap, settings) {
    const before = this.scene.locked;
    this.scene = scene;
    for (const cell of new Set([...before, ...scene.locked])) {
      this.scroller.children[cell]?.setAttribute('aria-selected', scene.locked.includes(cell));
    }
    this.paint(bitmap, settings);
  }

  paint(bitmap, { strength, warm, isSigned }) {
    const { clientWidth: width, clientHeight: height } = this.view;
    if (!width) return;
    const scale = globalThis.devicePixelRatio || 1;
    // The picture is redrawn only if one of these values changed.
    const ground = [this.data.header.id, Boolean(bitmap), width, height, scale].join();
    const anew = ground !== this.ground;
    if (anew) {
      this.paintGround(new Marks(clearedPen(this.below, width, height), this, { width, height }), bitmap);
      this.number(width, height);
    }
    this.ground = ground;
    this.find(this.scene);
    const { marks, heat, pointed, locked, focus } = this.scene;
    const empty = !marks.length && !heat && !pointed.length && !locked.length && focus < 0;
    if (empty && this.empty && !anew) return;
    this.empty = empty;
    const drawn = new Marks(clearedPen(this.above, width, height), this, { width, height });
    if (isSigned && heat) drawn.signed(heat, strength);
    else if (warm && heat) drawn.heat(heat, strength);
    else if (heat) drawn.dim(heat, strength);
    drawn.areas(marks, this.activeHeads, strength);
    if (locked.length) drawn.outline(locked, true);
    if (pointed.length) drawn.outline(pointed, false);
    if (this.data.heads > 1) drawn.tags(marks);
    if (focus >= 0) drawn.ring(focus);
  }

  paintGround(drawn, bitmap) {
    drawn.picture(bitmap);
    drawn.lines();
  }
}
