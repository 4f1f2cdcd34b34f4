// Facts and hops of a memory network: how much every hop reads of each fact, and the path over the
// heaviest facts to the answer. Users edit a fact in place, drag its number to move it, and ask
// without it. `act` reports these actions.

const LARGEST = 40; // px, diameter of the disc of a fact that gets all attention of a hop
const INSIDE = 0.3; // weight from which the number is inside the disc, not next to it
const FAINT = 0.005; // weight below which only a point is drawn
const LONG = 9; // largest number of facts with rows of full height
const HINT = 'Change a fact and press Enter, drag its number to move it, or empty it to remove it.';

function heaviest(shares) { return shares.indexOf(Math.max(...shares)); }

class Hops {
  constructor(root) {
    for (const name of ['say', 'board', 'answer', 'add', 'without', 'note', 'way', 'end']) this[name] = root.querySelector(`.${name}`);
    Object.assign(this, { root, head: root.querySelector('thead tr'), body: root.querySelector('tbody') });
    this.add.addEventListener('click', () => this.addFact());
    this.without.addEventListener('click', () => this.act('without', this.header.hidden[0] >= 0 ? -1 : +this.lit.dataset.fact));
    this.body.addEventListener('pointerover', ({ target }) => this.tell(target.closest('tr')));
    this.body.addEventListener('pointerleave', () => this.tellPath());
    new ResizeObserver(() => this.place()).observe(this.board);
  }

  /** Draw a result if it is not drawn yet. */
  update({ header }, act) {
    this.act = act;
    if (header.id === this.header?.id) return;
    this.header = header;
    this.asked = this.text(header.facts);
    this.root.classList.toggle('editable', Boolean(header.canEdit));
    this.add.hidden = !header.canEdit;
    this.without.parentElement.hidden = !header.canAsk;
    this.root.classList.toggle('long', header.facts.length > LONG);
    const hops = header.weights.map((_, hop) => this.headCell('hop', `Hop ${hop + 1}`));
    this.head.replaceChildren(this.headCell('', 'The story, in order'), ...hops, this.headCell('room', ''));
    const { part, place } = this.focused();
    this.body.replaceChildren(...header.facts.map((fact, number) => this.row(fact, number)));
    this.answer.querySelector('b').textContent = header.answer;
    this.note.textContent = this.explanation();
    this.light(this.rows()[this.firstLit()]);
    this.renumber();
    this.tellPath();
    this.rows()[place]?.querySelector(part).focus();
    this.root.dataset.ready = '';
  }

  /** Return the part of a row with the keyboard focus, and the number of the row. */
  focused() {
    const active = this.root.getRootNode().activeElement;
    const place = this.rows().findIndex((row) => row.contains(active));
    return { part: active?.matches('textarea') ? 'textarea' : '.number', place };
  }

  headCell(className, text) {
    return text ? Object.assign(made('th', className, text), { scope: 'col' }) : made('td', className);
  }

  rows() { return [...this.body.children]; }

  /**
   * The fact to highlight first: the fact that the last hop read, if the question needs it, else
   * the last needed fact.
   */
  firstLit() {
    const { needed, weights } = this.header;
    const read = heaviest(weights.at(-1));
    return needed.length && !needed.includes(read) ? needed.at(-1) : read;
  }

  row(fact, number) {
    const { weights, needed, hidden } = this.header;
    const shares = weights.map((each) => each[number] ?? 0);
    const row = made('tr', '');
    row.dataset.fact = number;
    row.classList.toggle('read', weights.some((each) => heaviest(each) === number));
    row.classList.toggle('hidden', hidden.includes(number));
    const cell = Object.assign(made('th', 'fact'), { scope: 'row' });
    const inner = made('div', 'inner');
    inner.append(this.handle(row), this.field(row, fact));
    if (needed.includes(number)) inner.append(made('span', 'mark', '✓ needed'));
    if (hidden.includes(number)) inner.append(made('span', 'mark', 'hidden'));
    cell.append(inner);
    row.append(cell, ...shares.map((share) => this.disc(share)), made('td', 'room'));
    return row;
  }

  /** Make the number of a fact. A click highlights the fact, a drag moves it. */
  handle(row) {
    const handle = Object.assign(made('button', 'number'), { type: 'button' });
    handle.addEventListener('click', () => this.light(row));
    handle.addEventListener('keydown', (event) => this.keyed(row, event));
    handle.addEventListener('pointerdown', (event) => { if (this.header.canEdit) this.drag(row, handle, event); });
    return handle;
  }

  field(row, fact) {
    const field = Object.assign(made('textarea', ''), { value: fact, defaultValue: fact, rows: 1, spellcheck: false });
    field.readOnly = !this.header.canEdit;
    field.addEventListener('focus', () => this.light(row));
    field.addEventListener('change', () => this.commit());
    field.addEventListener('keydown', (event) => this.keyed(row, event));
    return field;
  }

  disc(share) {
    const cell = made('td', share < FAINT ? 'hop none' : 'hop');
    const disc = made('span', 'disc');
    disc.style.setProperty('--size', `${share < FAINT ? 5 : LARGEST * Math.sqrt(share)}px`);
    cell.title = percent(share);
    cell.append(disc);
    if (share >= INSIDE) disc.textContent = Math.round(100 * share);
    else cell.append(made('span', 'share', Math.round(100 * share)));
    return cell;
  }

  /** Handle a key: Enter asks, Escape undoes an edit, and Alt with an arrow moves the fact. */
  keyed(row, event) {
    const step = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    const field = row.querySelector('textarea');
    if (event.key === 'Enter' && event.target === field) this.commit();
    else if (event.key === 'Escape') field.value = field.defaultValue;
    else if (event.altKey && step && this.header.canEdit) this.shift(row, step);
    else return;
    event.preventDefault();
  }

  shift(row, step) {
    const other = step < 0 ? row.previousElementSibling : row.nextElementSibling;
    if (!other) return;
    this.swap(row, other);
    this.commit();
  }

  /** Move `other` and not `row`, because a node that moves loses the focus and the pointer. */
  swap(row, other) {
    if (row.compareDocumentPosition(other) & Node.DOCUMENT_POSITION_FOLLOWING) row.before(other);
    else row.after(other);
    this.renumber();
  }

  drag(row, handle, { pointerId }) {
    handle.setPointerCapture(pointerId);
    const move = ({ clientY }) => {
      const other = this.rows().find((one) => {
        const { top, bottom } = one.getBoundingClientRect();
        return top <= clientY && clientY < bottom;
      });
      if (other && other !== row) this.swap(row, other);
    };
    handle.addEventListener('pointermove', move);
    handle.addEventListener('lostpointercapture', () => {
      handle.removeEventListener('pointermove', move);
      this.commit();
    }, { once: true });
  }

  addFact() {
    const row = this.row('', -1);
    this.body.append(row);
    this.renumber();
    row.querySelector('textarea').focus();
  }

  text(facts) {
    const written = facts.map((fact) => fact.trim().replace(/\s+/g, ' ')).filter(Boolean);
    return [...written.map((fact) => (/[.!?]$/.test(fact) ? fact : `${fact}.`)), this.header.question].join(' ');
  }

  /** Ask with the present facts, unless the last question had the same facts. */
  commit() {
    const text = this.text(this.rows().map((row) => row.querySelector('textarea').value));
    if (text === this.asked) return;
    this.asked = text;
    this.act('edited', text);
  }

  renumber() {
    this.rows().forEach((row, place) => {
      row.querySelector('.number').textContent = place + 1;
      row.querySelector('.number').setAttribute('aria-label', `Fact ${place + 1}`);
      row.querySelector('textarea').setAttribute('aria-label', `Text of fact ${place + 1}`);
    });
    this.light(this.lit);
    this.place();
  }

  light(row) {
    this.lit = row;
    for (const one of this.rows()) {
      one.toggleAttribute('data-lit', one === row);
      one.querySelector('.number').setAttribute('aria-pressed', String(one === row));
    }
    this.without.hidden = +row.dataset.fact < 0;
    const [hidden] = this.header.hidden;
    this.without.textContent = hidden >= 0 ? 'Put the hidden fact back' : `Try without fact ${this.rows().indexOf(row) + 1}`;
  }

  quoted(fact) { return `“${this.header.facts[fact].replace(/\.$/, '')}”`; }

  /** Describe how much of one fact every hop read. */
  tell(row) {
    if (!row || +row.dataset.fact < 0) return;
    const shares = this.header.weights.map((each, hop) => `${percent(each[row.dataset.fact])} in hop ${hop + 1}`);
    this.say.replaceChildren(`${this.quoted(row.dataset.fact)} gets `, bold(shares.join(', ')), '.');
  }

  /** Say which facts the hops read most, one after another, and the answer. */
  tellPath() {
    const { weights, answer, sure } = this.header;
    const steps = weights.map(heaviest).filter((fact, hop, all) => fact !== all[hop - 1]);
    const said = steps.flatMap((fact, step) => [...(step ? [', ', bold('then'), ' '] : [bold('First'), ' it reads ']), this.quoted(fact)]);
    this.say.replaceChildren(...said, '. The answer is ', bold(answer), `, ${percent(sure)} sure${this.judgement()}`);
    // Keep the height, because a shorter sentence would move the rows under the pointer.
    this.say.style.minHeight = '';
    this.say.style.minHeight = `${this.say.offsetHeight}px`;
  }

  /** Say whether the answer is right. If that is unknown, give a reason to doubt it. */
  judgement() {
    const { answer, expected, right } = this.header;
    if (expected) return answer === expected ? ', and right.' : `. The right answer is ${expected}.`;
    if (this.isUnread()) return `. Doubt it: no hop read most of a fact that names “${answer}”.`;
    return right ? `. Check it: ${percent(right)} of this model’s answers to test questions are right.` : '.';
  }

  /** Whether the question asks for a place, and no fact that a hop read most names the answer. */
  isUnread() {
    const { facts, weights, answer, question } = this.header;
    const named = (fact) => facts[fact].toLowerCase().split(/[^a-z]+/).includes(answer.toLowerCase());
    return question.startsWith('Where') && !weights.some((shares) => named(heaviest(shares)));
  }

  explanation() {
    const { canEdit, needed } = this.header;
    const parts = ['Each column is one reading of the story, a hop. The larger a disc, the more of the hop’s attention, in %, its fact gets.'];
    if (canEdit) parts.push(HINT);
    if (needed.length) parts.push('✓ needed: the answer follows from this fact.');
    return parts.join(' ');
  }

  /** Draw the path from disc to disc and to the answer, which is next to the last disc. */
  place() {
    if (!this.header) return;
    const { left, top, width, height } = this.board.getBoundingClientRect();
    const stops = this.header.weights.map((shares, hop) => {
      const row = this.rows().find((one) => +one.dataset.fact === heaviest(shares));
      const disc = row.children[hop + 1].firstChild.getBoundingClientRect();
      return { x: disc.x + disc.width / 2 - left, y: disc.y + disc.height / 2 - top, r: disc.width / 2 };
    });
    const links = stops.slice(1).map((to, n) => {
      const from = stops[n];
      const [start, stop] = [from.x + from.r, to.x - to.r];
      const middle = (start + stop) / 2;
      return `M${start} ${from.y}C${middle} ${from.y} ${middle} ${to.y} ${stop} ${to.y}`;
    });
    this.way.setAttribute('d', links.join(''));
    const last = stops.at(-1);
    const tall = this.answer.offsetHeight;
    const isBeside = getComputedStyle(this.answer).position === 'absolute';
    this.answer.style.top = `${Math.max(0, Math.min(last.y - tall / 2, height - tall))}px`;
    this.end.setAttribute('d', isBeside ? `M${last.x + last.r} ${last.y}H${width - this.answer.offsetWidth}` : '');
  }
}

function mount({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector('.hops');
  if (!root || !data) return;
  root.model ??= new Hops(root);
  root.model.update(readMessage(data), setTriggerValue);
}
