// A text in which raters mark errors with the browser's own caret and selection. It cannot be
// edited.

/**
 * Return a position in code points, as the server counts, from one in UTF-16 units of the browser.
 */
const points = (text, units) => [...text.slice(0, units)].length;

class MarkedText {
  constructor({ side, title, text }, onKey, onLeave) {
    Object.assign(this, { side, text });
    this.points = [...text];
    this.place = null;
    this.box = document.createElement('div');
    const label = Object.assign(document.createElement('p'), { className: 'label', textContent: title });
    this.area = Object.assign(document.createElement('div'), { className: 'text', contentEditable: 'true', spellcheck: false });
    const about = { role: 'textbox', 'aria-readonly': 'true', 'aria-multiline': 'true', 'aria-label': title };
    Object.entries(about).forEach(([name, value]) => this.area.setAttribute(name, value));
    for (const kind of ['beforeinput', 'cut', 'paste', 'drop', 'dragstart']) this.area.addEventListener(kind, (event) => event.preventDefault());
    this.area.addEventListener('keydown', (event) => {
      this.remember();
      onKey(event);
    });
    for (const kind of ['keyup', 'mouseup', 'blur']) this.area.addEventListener(kind, () => this.remember());
    this.area.addEventListener('focus', () => onLeave(this));
    this.box.append(label, this.area);
  }

  /** Remember the position of the selection, or of the caret: [start, end]. */
  remember() {
    const range = this.range();
    if (!range) return;
    const ends = [[range.startContainer, range.startOffset], [range.endContainer, range.endOffset]];
    if (!ends.every(([node]) => this.area.contains(node))) return;
    this.place = ends.map(([node, offset]) => {
      const before = document.createRange();
      before.setStart(this.area, 0);
      before.setEnd(node, offset);
      return points(this.text, before.toString().length);
    });
  }

  range() {
    const root = this.area.getRootNode();
    const chosen = getSelection();
    if (chosen.getComposedRanges && root instanceof ShadowRoot) {
      const [found] = chosen.getComposedRanges({ shadowRoots: [root] });
      if (found && this.area.contains(found.startContainer)) return found;
    }
    const own = root.getSelection ? root.getSelection() : chosen;
    return own.rangeCount ? own.getRangeAt(0) : null;
  }

  /** The span to mark: the selection without white space at its ends, or the word at the caret. */
  chosen() {
    if (!this.place) return null;
    let [start, end] = this.place;
    const blank = (at) => /\s/u.test(this.points[at] ?? ' ');
    if (start === end) {
      while (start > 0 && !blank(start - 1)) start -= 1;
      while (end < this.points.length && !blank(end)) end += 1;
    }
    while (start < end && blank(start)) start += 1;
    while (end > start && blank(end - 1)) end -= 1;
    return start < end ? [start, end] : null;
  }

  draw(spans, severities) {
    const here = spans.filter((one) => one.side === this.side);
    const cuts = [...new Set([0, this.points.length, ...here.flatMap((one) => [one.start, one.end])])].sort((a, b) => a - b);
    const had = this.area.matches(':focus') ? this.place : null;
    this.area.replaceChildren(...cuts.slice(1).map((end, index) => {
      const text = this.points.slice(cuts[index], end).join('');
      const over = here.filter((one) => one.start <= cuts[index] && end <= one.end);
      if (!over.length) return document.createTextNode(text);
      const worst = severities[Math.max(...over.map((one) => severities.indexOf(one.severity)))];
      const about = over.map((one) => `${one.severity} ${one.category}`.trim()).join('; ');
      return Object.assign(document.createElement('mark'), { className: worst, textContent: text, title: about });
    }));
    if (had) this.putCaret(had[1]);
  }

  /** Restore the position of the caret after the text was redrawn. */
  putCaret(place) {
    let left = this.points.slice(0, place).join('').length;
    for (const part of this.area.childNodes) {
      const node = part.firstChild ?? part;
      if (left <= node.data.length) {
        getSelection().collapse(node, left);
        return;
      }
      left -= node.data.length;
    }
  }
}

// A picture in which raters draw a box: with a pointer, or with the arrow keys.

const STEP = 0.02; // share of the picture that a key moves
const LEAST = 0.01;
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

const within = (value, low, high) => Math.min(Math.max(value, low), high);

class Boxes {
  /** `drawn` is called with a drawn box, `onKey` with keys that move no box. */
  constructor(picture, drawn, onKey) {
    this.drawn = drawn;
    this.next = [0.25, 0.25, 0.75, 0.75];
    this.frame = Object.assign(document.createElement('div'), { className: 'frame', tabIndex: 0 });
    this.frame.setAttribute('role', 'application');
    this.frame.setAttribute('aria-label', `${picture.title}. Arrows move a box, with Shift they size it, 1 to 4 mark it.`);
    const image = Object.assign(document.createElement('img'), { src: picture.source, alt: '', draggable: false });
    this.frame.append(image, this.drawn);
    this.frame.addEventListener('keydown', (event) => this.key(event, onKey));
    this.frame.addEventListener('focus', () => this.draw());
    this.frame.addEventListener('blur', () => this.draw());
    this.frame.addEventListener('pointerdown', (event) => this.drag(event));
  }

  key(event, onKey) {
    const arrow = ARROWS[event.key];
    if (!arrow) {
      onKey(event);
      return;
    }
    event.preventDefault();
    event.stopPropagation();
    const [left, top, right, bottom] = this.next;
    const [across, down] = arrow.map((one) => one * STEP);
    if (event.shiftKey) this.next = [left, top, within(right + across, left + STEP, 1), within(bottom + down, top + STEP, 1)];
    else {
      const [x, y] = [within(across, -left, 1 - right), within(down, -top, 1 - bottom)];
      this.next = [left + x, top + y, right + x, bottom + y];
    }
    this.draw();
  }

  place(event) {
    const box = this.frame.getBoundingClientRect();
    return [within((event.clientX - box.left) / box.width, 0, 1), within((event.clientY - box.top) / box.height, 0, 1)];
  }

  drag(event) {
    const start = this.place(event);
    this.frame.setPointerCapture(event.pointerId);
    const listeners = new AbortController();
    const follow = (moved) => {
      const [x, y] = this.place(moved);
      const box = [Math.min(start[0], x), Math.min(start[1], y), Math.max(start[0], x), Math.max(start[1], y)];
      if (box[2] - box[0] > LEAST && box[3] - box[1] > LEAST) this.next = box;
      this.draw();
    };
    this.frame.addEventListener('pointermove', follow, listeners);
    this.frame.addEventListener('pointerup', () => listeners.abort(), listeners);
    this.frame.addEventListener('pointercancel', () => listeners.abort(), listeners);
  }

  /** Draw the errors of `spans` that are in the picture, and the box that the rater draws. */
  draw(spans = this.spans) {
    this.spans = spans;
    const boxes = spans.filter((one) => one.box).map((one) => [one.box, one.severity]);
    boxes.push([this.next, 'next']);
    this.drawn.replaceChildren(...boxes.map(([box, kind]) => {
      const rect = document.createElementNS(this.drawn.namespaceURI, 'rect');
      rect.setAttribute('class', kind);
      const [left, top, right, bottom] = box;
      Object.entries({ x: left, y: top, width: right - left, height: bottom - top }).forEach(([name, value]) => rect.setAttribute(name, value));
      return rect;
    }));
  }
}

// Errors of one output and its score. Raters mark errors in the source, the output or a picture,
// with the keyboard or the pointer. When the rater saves, one message has all marks. Until then,
// they are kept for each output.

const drafts = new Map();
const HINT = 'Select by Shift and the arrows, or put the caret into a word; then 1 to 4 mark it. Delete takes a mark away, Ctrl + Enter saves, Escape leaves the text.';

class Judging {
  constructor(root) {
    this.root = root;
    this.find = (name) => root.querySelector(name);
    this.find('.hint').textContent = HINT;
    this.find('.whole').addEventListener('click', () => this.add({ side: 'whole', start: 0, end: 0 }, 'minor'));
    this.find('.save').addEventListener('click', () => this.save());
    this.find('.score').addEventListener('input', (event) => this.change({ score: event.target.value === '' ? null : Number(event.target.value) }));
    root.addEventListener('keydown', (event) => this.anyKey(event));
  }

  update(data, say) {
    this.say = say;
    if (this.data?.mark === data.mark) {
      this.drawState();
      return;
    }
    drafts.delete(data.replaces); // saved
    this.data = data;
    this.saved = { spans: data.spans, score: data.score };
    this.draft = drafts.get(data.mark) ?? this.saved;
    this.find('.texts').setAttribute('aria-label', data.label);
    this.texts = data.texts.map((one) => new MarkedText(one, (event) => this.key(event), (text) => { this.current = text; }));
    this.boxes = data.picture ? new Boxes(data.picture, this.find('svg').cloneNode(), (event) => this.key(event)) : null;
    this.boxes?.frame.addEventListener('focus', () => { this.current = this.boxes; });
    this.boxes?.frame.addEventListener('pointerdown', () => { this.current = this.boxes; });
    this.current = this.texts.at(-1);
    this.find('.texts').replaceChildren(...(this.boxes ? [this.boxes.frame] : []), ...this.texts.map((one) => one.box));
    this.drawChoices();
    this.find('.score').value = this.draft.score ?? '';
    this.draw();
    this.root.dataset.ready = '';
  }

  drawChoices() {
    const option = (value) => Object.assign(document.createElement('option'), { value });
    this.find('datalist').replaceChildren(...this.data.categories.map(option));
    this.find('.severities').replaceChildren(...this.data.severities.map((name, index) => {
      const button = Object.assign(document.createElement('button'), { type: 'button', className: name });
      const key = Object.assign(document.createElement('kbd'), { textContent: ` ${index + 1}` });
      button.append(name, key);
      button.addEventListener('mousedown', (event) => event.preventDefault()); // the selection stays
      button.addEventListener('click', () => this.mark(name));
      return button;
    }));
  }

  /** Handle a key in a text or in the picture. */
  key(event) {
    const command = event.ctrlKey || event.metaKey || event.altKey;
    if (command || event.key === 'Tab') return;
    event.stopPropagation();
    const severity = this.data.severities[Number(event.key) - 1];
    if (event.key === 'Escape') event.target.blur();
    else if (event.key === 'Delete' || event.key === 'Backspace') this.removeHere();
    else if (severity) this.mark(severity);
    else if (event.key.length !== 1) return;
    event.preventDefault();
  }

  anyKey(event) {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      this.save();
    }
    event.stopPropagation(); // typing here must not trigger shortcuts of the page
  }

  mark(severity) {
    if (this.current === this.boxes && this.boxes) {
      this.add({ side: 'picture', start: 0, end: 0, box: [...this.boxes.next] }, severity);
      return;
    }
    const chosen = this.current?.chosen();
    if (chosen) this.add({ side: this.current.side, start: chosen[0], end: chosen[1] }, severity);
    else this.tell('Put the caret into a word, or select what is wrong, then mark it.');
  }

  /** Mark an error. If this place is already marked, change its severity. */
  add(place, severity) {
    const same = (one) => one.side !== 'whole' && one.side === place.side && one.start === place.start && one.end === place.end
      && JSON.stringify(one.box ?? null) === JSON.stringify(place.box ?? null);
    const at = this.draft.spans.findIndex(same);
    const span = { box: null, note: '', ...place, category: '', severity };
    const spans = at < 0 ? [...this.draft.spans, span] : this.draft.spans.map((one, index) => (index === at ? { ...one, severity } : one));
    this.change({ spans });
    this.tell(`${severity}: ${this.quoted(span)}`);
  }

  /** Remove the marks at the caret, or the last box. */
  removeHere() {
    const { spans } = this.draft;
    const at = this.current?.place?.[0];
    const boxed = spans.findLastIndex((one) => one.box);
    const over = (one) => one.side === this.current.side && one.start <= at && at <= one.end;
    this.change({ spans: spans.filter((one, index) => (this.current === this.boxes ? index !== boxed : !over(one))) });
  }

  change(part) {
    this.draft = { ...this.draft, ...part };
    drafts.set(this.data.mark, this.draft);
    this.draw();
  }

  draw() {
    const { spans } = this.draft;
    this.texts.forEach((one) => one.draw(spans, this.data.severities));
    this.boxes?.draw(spans);
    this.find('.errors').replaceChildren(...spans.map((span, index) => this.row(span, index)));
    this.drawState();
  }

  drawState() {
    const changed = JSON.stringify(this.draft) !== JSON.stringify(this.saved);
    this.find('.save').classList.toggle('changed', changed);
    this.find('.save').textContent = this.data.version || changed || this.draft.spans.length ? 'Save' : 'Save: no errors';
    this.tell(changed ? 'Not saved yet.' : this.data.version ? 'Saved.' : '');
  }

  tell(sentence) {
    this.find('.said').textContent = sentence;
  }

  quoted(span) {
    const text = this.texts.find((one) => one.side === span.side);
    if (text) return `“${text.points.slice(span.start, span.end).join('')}”`;
    return span.side === 'picture' ? 'in the picture' : 'without a place';
  }

  /** Return a line of the list, in which an error can be changed. */
  row(span, index) {
    const line = Object.assign(document.createElement('li'), { className: span.severity });
    const quoted = Object.assign(document.createElement('span'), { className: 'quoted', textContent: this.quoted(span) });
    const severity = document.createElement('select');
    severity.append(...this.data.severities.map((name) => new Option(name, name, false, name === span.severity)));
    severity.setAttribute('aria-label', 'Severity');
    severity.addEventListener('change', () => this.edit(index, { severity: severity.value }, '.errors li:nth-child(@) select'));
    const category = this.field('category', 'Category', span.category, 100, (value) => this.edit(index, { category: value }));
    category.setAttribute('list', 'categories');
    const note = this.field('note', 'Note', span.note, 4000, (value) => this.edit(index, { note: value }));
    const remove = Object.assign(document.createElement('button'), { type: 'button', textContent: 'Remove' });
    remove.addEventListener('click', () => {
      this.change({ spans: this.draft.spans.filter((_, other) => other !== index) });
      (this.find(`.errors li:nth-child(${Math.max(index, 1)}) button`) ?? this.texts.at(-1).area).focus();
    });
    line.append(quoted, severity, category, note, remove);
    return line;
  }

  field(name, label, value, most, changed) {
    const input = Object.assign(document.createElement('input'), { className: name, value, maxLength: most, placeholder: label });
    input.setAttribute('aria-label', label);
    input.addEventListener('input', () => changed(input.value));
    return input;
  }

  /**
   * Change an error. Only elements coloured by severity are redrawn, so that a field keeps its
   * caret.
   */
  edit(index, part, focused = '') {
    this.draft = { ...this.draft, spans: this.draft.spans.map((one, other) => (other === index ? { ...one, ...part } : one)) };
    drafts.set(this.data.mark, this.draft);
    if (focused) {
      this.draw();
      this.find(focused.replace('@', index + 1)).focus();
    } else this.drawState();
  }

  save() {
    const score = this.find('.score');
    if (!score.validity.valid) {
      this.tell('The score is a number from 0 to 100.');
      score.focus();
      return;
    }
    this.tell('Saving');
    this.say('saved', { ...this.draft, at: Date.now() });
  }
}

function mount({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector('.judging');
  if (!root || !data) return;
  root.model ??= new Judging(root);
  root.model.update(data, setTriggerValue);
}
