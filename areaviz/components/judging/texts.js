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
