// The window on a picture: what a change of theta draws, and pointing at the output. The parts above are joined with this
// one by areaviz/components/parts.py. The server is asked nothing.

const GLIDE = 260; // ms that a button's change takes
const noMotion = matchMedia('(prefers-reduced-motion: reduce)');
const line = (...places) => `M${places.map((place) => place.map((number) => number.toFixed(4)).join(' ')).join('L')}`;

class WindowOnPicture {
  constructor(root) {
    this.root = root;
    const find = (name) => root.querySelector(name);
    Object.assign(this, { input: find('.input'), output: find('.output'), stage: find('.stage'), link: find('.line'), live: find('.live') });
    this.handles = new Handles(find('.input .view'), () => this.theta, (at, place) => this.set(pulled(this.theta, at, place), true));
    this.numbers = new Numbers(find('.theta'), (index, number) => this.set(this.theta.with(index, number)));
    this.loupe = new Loupe(find('.loupe'));
    this.screen = find('.output canvas');
    find('.input svg').setAttribute('viewBox', [-VIEW, -VIEW, 2 * VIEW, 2 * VIEW].join(' '));
    find('.moves').append(...MOVES.map(([name, move]) => this.button(name, () => this.glide(move(this.theta)))));
    this.listen();
    this.observer = new ResizeObserver(() => this.schedule());
    this.observer.observe(this.stage);
  }

  button(name, act) {
    const button = Object.assign(document.createElement('button'), { type: 'button', textContent: name });
    button.addEventListener('click', act);
    return button;
  }

  update({ pictures, theta, side }) {
    if (this.pictures) return;
    this.pictures = pictures.map(({ rgb, ...rest }) => ({ ...rest, rgb: Uint8Array.from(atob(rgb), (letter) => letter.charCodeAt(0)) }));
    Object.assign(this, { side, pixel: [Math.floor(side * 0.35), Math.floor(side * 0.6)] });
    Object.assign(this.screen, { width: side, height: side });
    this.screen.setAttribute('aria-label', `Output, ${side} by ${side} pixels. Arrow keys choose a pixel.`);
    this.output.querySelector('.title').append(`, ${side} × ${side} pixels`);
    this.output.querySelector('svg').setAttribute('viewBox', `0 0 ${side} ${side}`);
    this.buttons = this.pictures.map((picture) => this.button(picture.title, () => this.show(picture)));
    this.root.querySelector('.pictures').append(...this.buttons);
    this.theta = theta;
    this.show(this.pictures[0]);
    this.root.dataset.ready = '';
  }

  /** Lay a picture under the window. */
  show(picture) {
    const { width, height, rgb } = picture;
    const canvas = this.input.querySelector('canvas');
    Object.assign(canvas, { width, height });
    const image = new ImageData(width, height);
    for (let i = 0; i < width * height; i += 1) image.data.set([...rgb.subarray(3 * i, 3 * i + 3), 255], 4 * i);
    canvas.getContext('2d').putImageData(image, 0, 0);
    this.picture = picture;
    this.buttons.forEach((button, index) => button.setAttribute('aria-pressed', this.pictures[index] === picture));
    this.schedule();
  }

  set(theta, moved = false) {
    cancelAnimationFrame(this.gliding);
    this.theta = theta.map((number) => rounded(number));
    if (moved) this.live.textContent = `Theta ${this.theta.map((number) => number.toFixed(2)).join(', ')}`;
    this.schedule();
  }

  /** Go to another theta gradually, at once where the reader wants no motion. */
  glide(theta) {
    const [from, start] = [this.theta, performance.now()];
    const step = (now) => {
      const part = Math.min(Math.max((now - start) / GLIDE, 0), 1);
      this.set(part < 1 ? from.map((number, index) => number + (theta[index] - number) * part) : theta, part === 1);
      if (part < 1) this.gliding = requestAnimationFrame(step);
    };
    step(noMotion.matches ? start + GLIDE : start);
  }

  // Pointing at the output

  listen() {
    const at = (event) => {
      const box = this.screen.getBoundingClientRect();
      const index = (from, size) => Math.min(Math.max(Math.floor((from / size) * this.side), 0), this.side - 1);
      this.point([index(event.clientY - box.top, box.height), index(event.clientX - box.left, box.width)]);
    };
    for (const name of ['pointermove', 'pointerdown']) this.screen.addEventListener(name, at);
    this.screen.addEventListener('keydown', (event) => {
      const step = STEPS[event.key];
      if (!step) return;
      event.preventDefault();
      this.point([this.pixel[0] + step[1], this.pixel[1] + step[0]].map((n) => Math.min(Math.max(n, 0), this.side - 1)), true);
    });
  }

  point(pixel, byKeyboard = false) {
    this.pixel = pixel;
    this.draw();
    if (byKeyboard) this.live.textContent = [...this.root.querySelectorAll('.facts > *')].map((part) => part.textContent).join(' ');
  }

  // Drawing

  schedule() {
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => this.draw());
  }

  draw() {
    if (!this.picture || !this.root.isConnected) return;
    const { theta, side, picture } = this;
    this.screen.getContext('2d').putImageData(warped(picture, theta, side), 0, 0);
    this.handles.show(theta);
    this.numbers.show(theta);
    this.drawWindow();
    this.drawPixel();
    this.root.dataset.theta = theta.map((number) => rounded(number)).join(' ');
  }

  paths(where, name, drawn) {
    for (const path of where.querySelectorAll(`.${name}`)) path.setAttribute('d', drawn);
  }

  drawWindow() {
    const { theta, side, input, output } = this;
    const [at, half] = [(x, y) => mapped(theta, [x, y]), side / 2];
    const places = Array.from({ length: side * side }, (_, i) => mapped(theta, placeOf(Math.floor(i / side), i % side, side)));
    this.paths(input, 'dots', places.map((place) => `${line(place)}h0`).join(''));
    this.paths(input, 'frame', `${line(at(-1, -1), at(1, -1), at(1, 1), at(-1, 1))}Z`);
    this.paths(input, 'axis.across', line(at(0, 0), at(1, 0)));
    this.paths(input, 'axis.down', line(at(0, 0), at(0, 1)));
    this.paths(output, 'axis.across', line([half, half], [side, half]));
    this.paths(output, 'axis.down', line([half, half], [half, side]));
  }

  /** The pixel pointed at: its place in the input, the four pixels there, the line between. */
  drawPixel() {
    const [row, column] = this.pixel;
    const { width, height } = this.picture;
    const place = mapped(this.theta, placeOf(row, column, this.side));
    const found = around(this.picture, place);
    const { row: top, column: left } = found.pixels[0];
    const [x, y, w, h] = [(2 * left) / width - 1, (2 * top) / height - 1, 4 / width, 4 / height];
    const cross = `${line([x + w / 2, y])}v${h}${line([x, y + h / 2])}h${w}`;
    this.paths(this.input, 'four', `${line([x, y])}h${w}v${h}h${-w}Z${cross}`);
    this.paths(this.output, 'four', `M${column} ${row}h1v1h-1Z`);
    this.loupe.show(found);
    for (const [name, text] of Object.entries(facts(this.pixel, place, found))) this.root.querySelector(`[data-fact=${name}]`).textContent = text;
    const [from, to] = [[(column + 0.5) / this.side, (row + 0.5) / this.side], place.map((number) => (number / VIEW + 1) / 2)];
    const drawn = line(this.onStage(this.output, from), this.onStage(this.input, to));
    for (const path of this.link.children) path.setAttribute('d', drawn);
  }

  /** A place of a view, in parts of its sides, as pixels of the stage. */
  onStage(part, [across, down]) {
    const [stage, view] = [this.stage, part.querySelector('.view')].map((one) => one.getBoundingClientRect());
    return [view.left - stage.left + across * view.width, view.top - stage.top + down * view.height];
  }
}

function mount({ data, parentElement }) {
  const root = parentElement.querySelector('.window');
  if (!root || !data) return;
  root.model ??= new WindowOnPicture(root);
  root.model.update(data);
}
