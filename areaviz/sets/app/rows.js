// A table with rows to click. The server sorts and chooses the rows. This file draws them, reports
// which row or header was clicked, and scrolls to the element that a click has opened elsewhere on
// the page.

const PATIENCE = 20000; // ms to wait for the element that a click opens
const LOOK = 100;
const TALL = 760; // height in px of a window that has room for the table and the beginning of the opened element

class Rows {
  constructor(root) {
    this.root = root;
    this.head = root.querySelector('thead tr');
    this.body = root.querySelector('tbody');
  }

  update(data, say) {
    Object.assign(this, { data, say });
    this.root.style.setProperty('--tallest', `${data.height}px`);
    this.root.querySelector('table').setAttribute('aria-label', data.label);
    this.drawHead();
    this.drawRows();
    this.mark();
    this.root.dataset.ready = '';
  }

  /** Redraw only the changed parts, so that a button keeps the focus. */
  drawHead() {
    const { columns, sorted } = this.data;
    const mark = JSON.stringify([columns, sorted]);
    if (mark === this.headMark) return;
    const at = this.root.getRootNode().activeElement?.dataset?.sort;
    this.headMark = mark;
    this.head.replaceChildren(...columns.map((column) => this.headCell(column, sorted)));
    if (at) [...this.head.querySelectorAll('button')].find((one) => one.dataset.sort === at)?.focus();
  }

  headCell({ name, title, number }, sorted) {
    const cell = Object.assign(document.createElement('th'), { scope: 'col', className: number ? 'number' : '' });
    const inner = Object.assign(document.createElement(name ? 'button' : 'span'), { textContent: title });
    if (name) {
      Object.assign(inner, { type: 'button', title: `Sort by ${title}` });
      inner.dataset.sort = name;
      inner.addEventListener('click', () => this.say('sorted', name));
    }
    if (name && sorted?.[0] === name) cell.setAttribute('aria-sort', sorted[1]);
    cell.append(inner);
    return cell;
  }

  drawRows() {
    const mark = JSON.stringify([this.data.rows, this.data.ids, this.data.columns]);
    if (mark === this.rowsMark) return;
    this.rowsMark = mark;
    this.body.replaceChildren(...this.data.rows.map((cells, index) => this.row(cells, index)));
  }

  /**
   * The first cell is a button for keyboards and screen readers. For a pointer, the whole row is a
   * button.
   */
  row(cells, index) {
    const row = document.createElement('tr');
    row.dataset.id = this.data.ids[index];
    cells.forEach((text, place) => {
      const cell = Object.assign(document.createElement('td'), { className: this.data.columns[place].number ? 'number' : '' });
      const inner = place ? cell : Object.assign(document.createElement('button'), { type: 'button' });
      inner.textContent = text;
      if (inner !== cell) cell.append(inner);
      if (text.length > 30) cell.title = text;
      row.append(cell);
    });
    row.addEventListener('click', () => this.open(row));
    return row;
  }

  open(row) {
    this.show(row);
    this.say('opened', Number(row.dataset.id));
    if (this.data.target) this.follow(performance.now() + PATIENCE);
  }

  show(chosen) {
    for (const row of this.body.children) {
      if (row === chosen) row.setAttribute('aria-current', 'true');
      else row.removeAttribute('aria-current');
    }
  }

  /** Show which row is open. Only the table scrolls, and the page keeps its position. */
  mark() {
    const { chosen } = this.data;
    const row = [...this.body.children].find((one) => Number(one.dataset.id) === chosen && chosen !== null);
    this.show(row);
    if (!row || this.marked === chosen) return;
    this.marked = chosen;
    const [table, place] = [this.root.getBoundingClientRect(), row.getBoundingClientRect()];
    const head = this.head.getBoundingClientRect().height;
    if (place.top < table.top + head) this.root.scrollTop += place.top - table.top - head;
    else if (place.bottom > table.bottom) this.root.scrollTop += place.bottom - table.bottom;
  }

  /**
   * Scroll to the opened element as soon as it exists, with the table above it if there is room for
   * both.
   */
  follow(deadline) {
    clearTimeout(this.timer);
    const there = document.querySelector(`.st-key-${CSS.escape(this.data.target)}`);
    if (there) {
      const calm = matchMedia('(prefers-reduced-motion: reduce)').matches;
      const first = innerHeight < TALL ? there : this.root;
      first.scrollIntoView({ block: 'start', behavior: calm ? 'auto' : 'smooth' });
    } else if (performance.now() < deadline) this.timer = setTimeout(() => this.follow(deadline), LOOK);
  }
}

function mount({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector('.rows');
  if (!root || !data) return;
  root.model ??= new Rows(root);
  root.model.update(data, setTriggerValue);
}
