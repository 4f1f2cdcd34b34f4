// Draws what lights up behind one text: every head's spans as bands below the letters, the head's strongest span also
// as a tint behind them, and the items pointed at or locked as outlines.

const TINT = 0.2;
const FAINTEST = 0.3;

class Painter {
  constructor(pen, side, size) {
    const style = getComputedStyle(side.section);
    const read = (name, otherwise) => style.getPropertyValue(name).trim() || otherwise;
    Object.assign(this, { pen, side, size, layout: side.layout, top: side.scroller.scrollTop });
    this.ink = read('--st-text-color', style.color);
    this.accent = read('--st-primary-color', this.ink);
  }

  /** Bands for spans that come heaviest first within each head; heads share the space below a row. */
  spans(spans) {
    const heads = [...new Set(spans.map((span) => span.head))];
    const shown = Math.max(this.side.activeHeads?.length ?? heads.length, 1);
    const order = this.side.activeHeads ?? heads;
    const pitch = Math.min(this.layout.bands / shown, 9);
    const strongest = new Map();
    for (const span of spans) if (!strongest.has(span.head)) strongest.set(span.head, span);
    for (const span of strongest.values()) this.tint(span);
    for (const span of [...spans].reverse()) {
      this.band(span, order.indexOf(span.head) * pitch, pitch - 1.5, strongest.get(span.head) === span);
    }
  }

  /** Items against the average: one colour for more, one for less, the deeper the further from it. */
  signed(values) {
    values.forEach((value, item) => {
      const deep = Math.min(Math.abs(value) / this.side.steepest, 1);
      if (deep < 0.02) return;
      this.pen.globalAlpha = 0.8 * deep;
      this.pen.fillStyle = this.side.signed[value > 0 ? 1 : 0];
      for (const box of this.boxes({ start: item, length: 1 })) this.block(box.x, box.y + 1, box.width, TEXT_HEIGHT - 2, 4);
    });
    this.pen.globalAlpha = 1;
  }

  tint(span) {
    this.pen.globalAlpha = TINT * (0.4 + 0.6 * Math.sqrt(Math.min(span.weight, 1)));
    this.pen.fillStyle = this.colour(span.head);
    for (const box of this.boxes(span)) this.block(box.x, box.y + 1, box.width, TEXT_HEIGHT - 2, 4);
    this.pen.globalAlpha = 1;
  }

  /** Thickness and opacity grow with the root of the weight; the strongest span of a head is solid. */
  band(span, offset, thickest, strongest) {
    const strength = Math.sqrt(Math.min(span.weight, 1));
    const thickness = strongest ? thickest : Math.max(thickest * (0.4 + 0.5 * strength), 1.5);
    this.pen.globalAlpha = strongest ? 1 : FAINTEST + 0.5 * strength;
    this.pen.fillStyle = this.colour(span.head);
    for (const box of this.boxes(span)) {
      const y = box.y + TEXT_HEIGHT + 2 + offset + (thickest - thickness) / 2;
      this.block(box.x + 0.5, y, Math.max(box.width - 1, 2), thickness, thickness / 2);
      if (strongest) this.edge();
      if (span.head >= this.side.colours.length) this.notches(box, y, thickness);
    }
    this.pen.globalAlpha = 1;
  }

  /** A fine line around the shape just drawn, so that pale colours keep a shape on any page. */
  edge() {
    this.pen.strokeStyle = this.ink;
    this.pen.lineWidth = 0.75;
    this.pen.globalAlpha = 0.45;
    this.pen.stroke();
    this.pen.globalAlpha = 1;
  }

  /** Heads beyond the palette repeat its colours with gaps. */
  notches(box, y, thickness) {
    for (let x = box.x + 4; x < box.x + box.width - 2; x += 6) this.pen.clearRect(x, y, 2, thickness);
  }

  outline(items, locked) {
    this.pen.strokeStyle = this.accent;
    this.pen.fillStyle = this.accent;
    this.pen.lineWidth = locked ? 2 : 1.5;
    for (const [start, last] of this.side.items.runs(items)) {
      for (const box of this.boxes({ start, length: last - start + 1 })) {
        this.pen.globalAlpha = locked ? 0.22 : 0.12;
        this.block(box.x - 1, box.y + 1, box.width + 2, TEXT_HEIGHT - 2, 5);
        this.pen.globalAlpha = 1;
        this.pen.stroke();
      }
    }
  }

  ring(item) {
    this.pen.strokeStyle = this.ink;
    this.pen.lineWidth = 2;
    for (const box of this.boxes({ start: item, length: 1 })) {
      this.pen.beginPath();
      this.pen.roundRect(box.x - 2, box.y + 1, box.width + 4, TEXT_HEIGHT - 2, 6);
      this.pen.stroke();
    }
  }

  /** Where spans and pointed items lie in the whole text, beside the scroll bar. */
  marks(spans, pointed) {
    const x = this.side.scroller.clientWidth - MARKS_WIDTH + 5;
    const place = (item) => (this.layout.row[item] / this.layout.firsts.length) * this.size.height;
    for (const span of [...spans].reverse()) {
      this.pen.globalAlpha = FAINTEST + 0.7 * Math.sqrt(Math.min(span.weight, 1));
      this.pen.fillStyle = this.colour(span.head);
      this.pen.fillRect(x, place(span.start), MARKS_WIDTH - 6, 3);
    }
    this.pen.globalAlpha = 1;
    this.pen.fillStyle = this.accent;
    for (const item of pointed) this.pen.fillRect(x, place(item), MARKS_WIDTH - 6, 3);
  }

  /** A span's boxes that are in view, in canvas coordinates. */
  boxes({ start, length }) {
    const boxes = this.layout.boxes(start, start + length - 1);
    for (const box of boxes) box.y -= this.top;
    return boxes.filter((box) => box.y + this.layout.rowHeight > 0 && box.y < this.size.height);
  }

  block(x, y, width, height, radius) {
    this.pen.beginPath();
    this.pen.roundRect(x, y, width, height, Math.min(radius, width / 2, height / 2));
    this.pen.fill();
  }

  colour(head) {
    return this.side.colours[head % this.side.colours.length];
  }
}
