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
