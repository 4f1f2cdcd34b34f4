// One of the two texts on the page: a scroller with elements for the rows in view. The links
// between the texts are drawn by painter.js behind both.

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
