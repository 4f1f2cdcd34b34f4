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

// The side of the grid that is a text. Each item is a chip with a dot for every head that attends
// from the item to the hovered cells.

class Chips {
  constructor(section, name) {
    Object.assign(this, { section, name });
    this.title = section.querySelector('.title');
    this.scroller = section.querySelector('.scroller');
    this.scene = { locked: [] };
  }

  load(data, colours) {
    Object.assign(this, { data, colours, items: data.text, count: data.text.count });
    this.scroller.dir = data.text.rightToLeft ? 'rtl' : 'ltr';
    this.scroller.replaceChildren(...data.text.labels.map((label, item) => this.option(label, item)));
    this.scene = { locked: [] };
  }

  option(label, item) {
    const { text, quiet } = shown(label);
    const symbol = this.items.isSymbol(item) ? 'symbol' : '';
    const joined = item > 0 && !symbol && this.items.start[item] === this.items.end[item - 1] ? 'joined' : '';
    const made = element('span', `chip ${symbol} ${quiet ? 'quiet' : ''} ${joined}`);
    made.id = this.elementId(item);
    made.setAttribute('role', 'option');
    made.setAttribute('aria-selected', 'false');
    const dots = element('span', 'dots');
    dots.setAttribute('aria-hidden', 'true');
    made.append(element('bdi', '', text), dots);
    return made;
  }

  elementId(item) { return `${this.name}-${item}`; }

  reveal() {}

  /**
   * The chip under a pointer, or the nearest chip if the pointer is between two chips or outside.
   */
  hit(event) {
    const away = (chip) => {
      const box = chip.getBoundingClientRect();
      const across = Math.max(box.left - event.clientX, event.clientX - box.right, 0);
      return across + 4 * Math.max(box.top - event.clientY, event.clientY - box.bottom, 0);
    };
    const distances = [...this.scroller.children].map(away);
    const best = distances.indexOf(Math.min(...distances));
    return distances[best] < 24 || event.buttons ? best : -1;
  }

  between(one, other) {
    const [first, last] = [Math.min(one, other), Math.max(one, other)];
    return Array.from({ length: last - first + 1 }, (_, i) => first + i);
  }

  moved(item, key) {
    if (key === 'Home') return 0;
    if (key === 'End') return this.count - 1;
    const forward = key === 'ArrowDown' || (key !== 'ArrowUp' && (key === 'ArrowRight') !== this.items.rightToLeft);
    return Math.min(Math.max(item + (forward ? 1 : -1), 0), this.count - 1);
  }

  word(item) { return this.items.word(item); }

  /** The items that represent ranges of characters. */
  at(ranges) { return [...new Set(ranges.flatMap((range) => this.items.at(range)))]; }

  show({ marks, heat, pointed, locked, focus }, _, { warm, strength, isSigned }) {
    const { signed, steepest } = this.data.header;
    const most = isSigned ? steepest : heat ? Math.max(...heat) : 0;
    const style = getComputedStyle(this.section);
    const [ground, accent] = ['--st-background-color', '--st-primary-color'].map((name) => style.getPropertyValue(name).trim());
    [...this.scroller.children].forEach((chip, item) => {
      chip.classList.toggle('pointed', pointed.includes(item));
      chip.toggleAttribute('data-lit', pointed.includes(item));
      chip.classList.toggle('ring', focus === item);
      chip.setAttribute('aria-selected', locked.includes(item));
      const level = most && heat ? Math.min(Math.abs(heat[item]) / most, 1) : 0;
      this.tint(chip, level, strength, ground, isSigned ? signed[heat?.[item] > 0 ? 1 : 0] : warm ? this.data.ramp(level) : accent);
      const heads = marks.filter((mark) => mark.query === item && mark.rank === 0);
      const dots = chip.lastChild;
      if (heads.length || dots.childElementCount) dots.replaceChildren(...heads.map(({ head }) => swatch(head, this.colours)));
    });
  }

  /** Tint a chip with the colour and opacity of the picture, and with letters readable on it. */
  tint(chip, level, strength, ground, over) {
    const colour = mixed(over, /^#[0-9a-f]{6}$/i.test(ground) ? ground : '#ffffff', strength * level);
    chip.classList.toggle('tinted', level > 0);
    chip.style.setProperty('--tint', colour);
    chip.style.setProperty('--ink', takesBlack(colour) ? '#000000' : '#ffffff');
  }
}

// The grid's controls, legend and tools, in addition to those of the ribbon. All text enters
// through textContent.

class GridControls extends Controls {
  load(data) {
    const splits = Boolean(data.text && data.text.words.length < data.text.count);
    super.load('token', 'cells', data.hasSeveral, data.readings, splits);
  }
}

class GridLegend extends Legend {
  areas = sentence('areas');

  meaning = sentence('Dark cells get little attention. A frame is as thick as its share.');

  load(data, colours) {
    this.idle = data.text ? sentence('Hover over a word or the picture, click or drag to pin.')
      : sentence('Hover over a cell of either picture, click or drag to pin.');
    super.load(data.header, colours, data.readings, 'cells');
    this.data = data;
  }

  named(mark) {
    if (mark.query !== undefined) return this.data.name('query', [mark.query]);
    return mark.read ? sentence('read: {where}', { where: areaText(mark.area) }) : areaText(mark.area);
  }

  phrase(scene) {
    const { side, spans: marks, weighed } = scene;
    const top = heaviest(marks);
    const what = withCapital(scene.what);
    const several = weighed > 1 && !(side === 'query' && this.data.text);
    if (side === 'query' && top && !top.read && !several) return withCapital(super.phrase(scene));
    if (!top && side === 'query') return sentence('{what} attends to nothing here.', { what });
    if (!top) return sentence('{what} is hardly attended to.', { what });
    if (scene.isDensest) return this.smallestPhrase(scene);
    const where = top.query === undefined ? areaText(top.area) : this.named(top);
    const mean = weighed > 1 && side === 'query' ? sentence(', mean of {count}', { count: weighed }) : '';
    const weight = scene.isRaised ? sentence('{times} times the average', { times: times(top.weight) }) : share(top);
    const told = { what, where, how: `${this.head(top)}${weight}${mean}` };
    return this.looking(side, top, several, told).replaceAll(' %', '\u00a0%');
  }

  /**
   * The sentence about one or several items: their areas, the areas they read, or the items that
   * attend to them.
   */
  looking(side, top, several, told) {
    if (side === 'memory') {
      return several ? sentence('{what} are attended to most by {where} ({how}).', told)
        : sentence('{what} is attended to most by {where} ({how}).', told);
    }
    if (top.read) return several ? sentence('{what} read {where} ({how}).', told) : sentence('{what} reads {where} ({how}).', told);
    return several ? sentence('{what} attend most to {where} ({how}).', told) : sentence('{what} attends most to {where} ({how}).', told);
  }

  averaged({ weighed }) {
    return weighed > 1 ? sentence(', on average over {count} {items}', { count: weighed, items: noun('items', weighed) }) : '';
  }

  isTakenAsOne(span) { return +this.extent(span) > 1; }

  itemOf({ area }) { return area.height * area.width === 1 ? area.top * this.data.columns + area.left : -1; }
}

/**
 * Controls of the number, overlap and strength of areas, and of the tint of cells and its scale.
 */
class Tools {
  constructor(root, onChange) {
    const find = (name) => root.querySelector(`.${name}`);
    Object.assign(this, { many: find('many'), overlap: find('overlap'), strength: find('strength'), warm: find('warm'), scale: find('scale') });
    for (const input of [this.many, this.overlap, this.strength]) input.oninput = () => { this.say(); onChange(); };
    this.warm.onclick = () => {
      this.warm.setAttribute('aria-pressed', !this.settings.warm);
      onChange();
    };
  }

  /** Set the controls to their default values. */
  load({ heat, lit }) {
    this.scale.firstElementChild.style.background = `linear-gradient(90deg, ${heat.join(', ')})`;
    this.many.max = lit.most;
    this.overlap.step = lit.step * 100;
    if (!this.loaded) [this.many.value, this.overlap.value] = [lit.many, lit.overlap * 100];
    this.loaded = true;
    this.say();
  }

  say() {
    this.many.nextElementSibling.textContent = this.many.value;
    for (const input of [this.overlap, this.strength]) input.nextElementSibling.textContent = `${input.value} %`;
  }

  get settings() {
    const warm = this.warm.getAttribute('aria-pressed') === 'true';
    return { many: +this.many.value, overlap: this.overlap.value / 100, strength: this.strength.value / 100, warm };
  }

  /** Show the end of the scale of the tint. Colours relative to the average need no scale. */
  show(shares, side, isSigned) {
    const heat = isSigned ? null : shares;
    const most = heat ? Math.max(...heat) : 0;
    this.scale.classList.toggle('idle', !most || !this.settings.warm);
    const told = side === 'query' ? sentence('0 to {most} of the attention', { most: percent(most) })
      : sentence('0 to {most} given to it', { most: percent(most) });
    this.scale.lastElementChild.textContent = most ? told : '';
  }
}
