// One of the two texts on the page: a scroller that holds elements for the rows in view, and behind it a canvas with
// everything that lights up.

const OVERSCAN = 1;

class Side {
  constructor(section, name) {
    this.name = name;
    this.section = section;
    this.title = section.querySelector('.title');
    this.view = section.querySelector('.view');
    this.canvas = section.querySelector('canvas');
    this.scroller = section.querySelector('.scroller');
    this.list = section.querySelector('.rows');
    this.scene = { spans: [], signed: null, pointed: [], locked: [], focus: -1 };
    this.rows = new Map();
  }

  load(items, heads, { colours, signed, steepest }) {
    Object.assign(this, { items, colours, heads, signed, steepest, layout: new Layout(items, heads) });
    this.scene = { spans: [], signed: null, pointed: [], locked: [], focus: -1 };
    this.scroller.scrollTop = 0;
    this.scroller.dir = 'ltr';
    this.section.dataset.level = items.level;
  }

  /** Lay the text out anew in the width there is, at most `tallest` pixels high. */
  resize(tallest, measure) {
    const width = this.scroller.clientWidth - MARKS_WIDTH;
    if (width < 40) return false;
    this.layout.place(width, measure);
    this.view.style.height = `${Math.min(this.layout.height, Math.max(tallest, this.layout.rowHeight * 1.5))}px`;
    this.list.style.height = `${this.layout.height}px`;
    this.list.replaceChildren();
    this.rows.clear();
    this.render();
    return true;
  }

  /** Make the rows in view the only ones with elements, then paint. */
  render() {
    const { rowHeight, firsts } = this.layout;
    const from = Math.max(Math.floor(this.scroller.scrollTop / rowHeight) - OVERSCAN, 0);
    const to = Math.min(Math.ceil((this.scroller.scrollTop + this.view.clientHeight) / rowHeight) + OVERSCAN, firsts.length);
    for (const [row, element] of this.rows) {
      if (row < from || row >= to) { element.remove(); this.rows.delete(row); }
    }
    for (let row = from; row < to; row += 1) if (!this.rows.has(row)) this.rows.set(row, this.addRow(row));
    this.paint();
  }

  addRow(row) {
    const element = document.createElement('div');
    element.className = 'row';
    element.setAttribute('role', 'presentation');
    element.style.transform = `translateY(${row * this.layout.rowHeight}px)`;
    for (let i = this.layout.firsts[row]; i <= this.layout.last(row); i += 1) element.append(this.addItem(i));
    this.list.append(element);
    return element;
  }

  addItem(item) {
    const element = document.createElement('span');
    const { text, quiet, chip } = this.layout.kinds[item];
    element.className = `item ${chip} ${quiet ? 'quiet' : ''}`;
    element.id = this.elementId(item);
    element.textContent = text;
    element.style.left = `${this.layout.x[item]}px`;
    element.style.width = `${this.layout.width[item]}px`;
    element.setAttribute('role', 'option');
    element.setAttribute('aria-selected', this.scene.locked.includes(item));
    element.setAttribute('aria-posinset', item + 1);
    element.setAttribute('aria-setsize', this.items.count);
    return element;
  }

  elementId(item) { return `${this.name}-${item}`; }

  /** The item under a pointer event, or -1. */
  hit(event) {
    const box = this.scroller.getBoundingClientRect();
    return this.layout.hit(event.clientX - box.left, event.clientY - box.top + this.scroller.scrollTop);
  }

  /** Show a scene: {spans, signed, pointed, locked, focus}. Only what is in view is drawn. */
  show(scene) {
    const before = this.scene.locked;
    this.scene = scene;
    if (before.join() !== scene.locked.join()) {
      for (const item of [...before, ...scene.locked]) {
        this.scroller.querySelector(`#${this.elementId(item)}`)?.setAttribute('aria-selected', scene.locked.includes(item));
      }
    }
    this.paint();
  }

  reveal(item) {
    const top = this.layout.row[item] * this.layout.rowHeight;
    const { scrollTop } = this.scroller;
    const inView = top >= scrollTop && top + this.layout.rowHeight <= scrollTop + this.view.clientHeight;
    if (inView) return;
    const smooth = !matchMedia('(prefers-reduced-motion: reduce)').matches;
    const middle = top - (this.view.clientHeight - this.layout.rowHeight) / 2;
    this.scroller.scrollTo({ top: middle, behavior: smooth ? 'smooth' : 'auto' });
  }

  paint() {
    const { clientWidth: width, clientHeight: height } = this.view;
    const painter = new Painter(clearedPen(this.canvas, width, height), this, { width, height });
    if (this.scene.signed) painter.signed(this.scene.signed);
    painter.spans(this.scene.spans);
    painter.outline(this.scene.pointed, false);
    painter.outline(this.scene.locked, true);
    if (this.layout.height > height) painter.marks(this.scene.spans, this.scene.pointed);
    if (this.scene.focus >= 0) painter.ring(this.scene.focus);
  }
}
