// The handles of the window: centre, four edges, four corners. Each can be dragged, and moved by the arrow keys.

const VIEW = 1.3; // the picture's surroundings are shown up to here
const STEPS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
const STEP = 0.05;
const FINE = 0.01;
const SPOTS = [
  ['Centre', 'centre', 0, 0],
  ['Right edge', 'edge right', 1, 0],
  ['Bottom edge', 'edge bottom', 0, 1],
  ['Left edge', 'edge', -1, 0],
  ['Top edge', 'edge', 0, -1],
  ['Top left corner', 'corner', -1, -1],
  ['Top right corner', 'corner', 1, -1],
  ['Bottom right corner', 'corner', 1, 1],
  ['Bottom left corner', 'corner', -1, 1],
];

class Handles {
  /** now: gives theta as it is, which is newer than what was drawn where keys come fast. */
  constructor(view, now, onPull) {
    Object.assign(this, { view, now, onPull });
    this.all = SPOTS.map((spot) => this.handle(spot));
    view.querySelector('.handles').append(...this.all.map(({ button }) => button));
    view.addEventListener('pointerdown', (event) => this.inside(event));
  }

  handle([name, kind, x, y]) {
    const button = Object.assign(document.createElement('button'), { type: 'button', className: `handle ${kind}`, title: name });
    const handle = { name, button, at: [x, y] };
    button.addEventListener('pointerdown', (event) => this.press(handle, event));
    button.addEventListener('keydown', (event) => this.key(handle, event));
    return handle;
  }

  /** A place of the input under the pointer. */
  place(event) {
    const box = this.view.getBoundingClientRect();
    const along = (from, size) => (2 * (from / size) - 1) * VIEW;
    return [along(event.clientX - box.left, box.width), along(event.clientY - box.top, box.height)];
  }

  press(handle, event) {
    if (event.button) return;
    event.preventDefault();
    event.stopPropagation();
    handle.button.focus();
    this.drag(handle, handle.button, event);
  }

  /** The whole window can be dragged by a mouse, not only by its centre; a finger there scrolls the page. */
  inside(event) {
    const seen = this.now() && unmapped(this.now(), this.place(event));
    if (event.button || event.pointerType !== 'mouse' || !seen || Math.max(...seen.map(Math.abs)) > 1) return;
    event.preventDefault();
    this.drag(this.all[0], this.view, event);
  }

  drag(handle, target, event) {
    const [from, start] = [this.place(event), mapped(this.now(), handle.at)];
    const stop = new AbortController();
    const move = (later) => {
      const now = this.place(later);
      this.onPull(handle.at, [start[0] + now[0] - from[0], start[1] + now[1] - from[1]]);
    };
    target.setPointerCapture(event.pointerId);
    target.addEventListener('pointermove', move, stop);
    for (const name of ['pointerup', 'pointercancel', 'lostpointercapture']) target.addEventListener(name, () => stop.abort(), stop);
  }

  key(handle, event) {
    const step = STEPS[event.key];
    if (!step) return;
    event.preventDefault();
    const [x, y] = mapped(this.now(), handle.at);
    const far = event.shiftKey ? FINE : STEP;
    this.onPull(handle.at, [x + far * step[0], y + far * step[1]]);
  }

  /** Put every handle where theta has it; those outside the view stay at its border. */
  show(theta) {
    for (const { name, button, at } of this.all) {
      const place = mapped(theta, at);
      const [left, top] = place.map((number) => Math.min(Math.max((number / VIEW + 1) / 2, 0.02), 0.98));
      Object.assign(button.style, { left: `${100 * left}%`, top: `${100 * top}%` });
      button.setAttribute('aria-label', `${name} of the window, at x ${place[0].toFixed(2)}, y ${place[1].toFixed(2)}. Arrow keys move it.`);
    }
  }
}
