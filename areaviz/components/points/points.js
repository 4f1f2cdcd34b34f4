// The answer of a pointer network as a drawing that grows step by step. Users drag points, add and remove them; `act`
// reports the new points, and `report` the chosen step.

const EXTENT = 1000; // the points are in a square of this size, y upwards
const RADIUS = 31;
const FEWEST = 3; // points of an answer
const STEP = 20; // how far an arrow key moves a point
const PAUSE = 900; // ms between two steps of Play
const SEEN = 0.01; // weights below it have no ray
const DOUBLE = 400; // ms between the presses of a double-click

const NEAR = { ArrowLeft: [-STEP, 0], ArrowRight: [STEP, 0], ArrowUp: [0, STEP], ArrowDown: [0, -STEP] };

class Points {
  constructor(root) {
    for (const name of ['drawing', 'say', 'steps', 'play', 'note']) this[name] = root.querySelector(`.${name}`);
    Object.assign(this, { root, svg: root.querySelector('svg') });
    this.svg.addEventListener('pointerdown', (event) => this.press(event));
    this.svg.addEventListener('keydown', (event) => this.keyed(event));
    this.play.addEventListener('click', () => (this.timer ? this.pause() : this.start()));
  }

  /** Draw a result that is not drawn yet, and go to a step. */
  update({ header }, act, report) {
    Object.assign(this, { act, report });
    if (header.id !== this.header?.id) {
      this.pause();
      this.header = header;
      this.points = header.points.map((point) => [...point]);
      this.root.classList.toggle('editable', Boolean(header.canEdit));
      this.steps.replaceChildren(...header.chosen.map((point, step) => this.chip(point, step)));
      this.note.textContent = this.explanation();
    }
    this.show(header.items[0]);
    this.root.dataset.ready = '';
  }

  chip(point, step) {
    const button = Object.assign(document.createElement('button'), { type: 'button', textContent: point + 1 });
    button.setAttribute('aria-label', `Step ${step + 1}: point ${point + 1}`);
    button.addEventListener('click', () => this.pick(step));
    return button;
  }

  pick(step) {
    this.pause();
    this.show(step);
    this.report({ id: this.header.id, items: [step] });
  }

  show(step) {
    this.step = step;
    [...this.steps.children].forEach((chip, n) => {
      chip.className = n < step ? 'done' : '';
      if (n === step) chip.setAttribute('aria-current', 'step');
      else chip.removeAttribute('aria-current');
    });
    this.draw();
    this.tell();
  }

  place(point) {
    const [x, y] = this.points[point];
    return [x, EXTENT - y];
  }

  /** A line between the circles of two points. */
  line(from, to, attributes) {
    const [[x, y], [left, top]] = [this.place(from), this.place(to)];
    const long = Math.hypot(left - x, top - y) || 1;
    const [across, down] = [((left - x) / long) * (RADIUS + 4), ((top - y) / long) * (RADIUS + 4)];
    return drawn(this.svg, 'path', { d: `M${x + across} ${y + down}L${left - across} ${top - down}`, ...attributes });
  }

  draw() {
    const { chosen, exact, weights } = this.header;
    const active = this.root.getRootNode().activeElement?.dataset?.point;
    const links = chosen.slice(1).map((point, n) => {
      const kind = n + 1 > this.step ? { class: 'later' } : n + 1 === this.step ? { 'marker-end': 'url(#arrow)' } : {};
      return this.line(chosen[n], point, kind);
    });
    const isOther = exact.length && exact.join() !== chosen.join();
    const best = isOther ? exact.slice(1).map((point, n) => this.line(exact[n], point, { class: 'exact' })) : [];
    const rays = this.step ? weights[this.step].flatMap((share, point) => this.ray(share, point)) : [];
    this.drawing.replaceChildren(...best, ...links, ...rays, ...this.points.map((_, point) => this.circle(point)));
    this.drawing.querySelector(`[data-point="${active}"]`)?.focus();
  }

  /** What the model thought of instead at this step, from the point before. */
  ray(share, point) {
    const { chosen } = this.header;
    const from = chosen[this.step - 1];
    if (share < SEEN || point === chosen[this.step] || point === from) return [];
    const [[x, y], [left, top]] = [this.place(from), this.place(point)];
    const label = drawn(this.svg, 'text', { class: 'share', x: (x + left) / 2 + 34, y: (y + top) / 2 }, percent(share));
    return [this.line(from, point, { class: 'ray', 'stroke-width': 6 + 60 * share }), label];
  }

  circle(point) {
    const [x, y] = this.place(point);
    const isUsed = this.header.chosen.slice(0, this.step + 1).includes(point);
    const group = drawn(this.svg, 'g', { class: isUsed ? 'point used' : 'point', 'data-point': point });
    if (point === this.header.chosen[this.step]) group.setAttribute('data-lit', '');
    if (this.header.canEdit) {
      const name = `Point ${point + 1} at ${this.points[point].join(', ')}`;
      Object.entries({ tabindex: 0, role: 'button', 'aria-label': name }).forEach((pair) => group.setAttribute(...pair));
    }
    group.append(drawn(this.svg, 'circle', { cx: x, cy: y, r: RADIUS }), drawn(this.svg, 'text', { x, y: y + 12 }, point + 1));
    return group;
  }

  tell() {
    const { chosen, weights } = this.header;
    const { step } = this;
    const title = bold(`Step ${step + 1} of ${chosen.length}.`);
    const share = percent(weights[step][chosen[step]]);
    if (!step) this.say.replaceChildren(title, ' It starts at ', bold(chosen[0] + 1), `, ${share} sure.`);
    else this.say.replaceChildren(title, ` From ${chosen[step - 1] + 1} it points at `, bold(chosen[step] + 1), `, ${share} sure.${this.second()}`);
  }

  /** The point with the second largest weight, if it has a share that is drawn. */
  second() {
    const { chosen, weights } = this.header;
    const others = weights[this.step].map((share, point) => (point === chosen[this.step] ? -1 : share));
    const most = Math.max(...others);
    return most < SEEN ? '' : ` ${percent(most)} went to ${others.indexOf(most) + 1}.`;
  }

  explanation() {
    const { chosen, exact } = this.header;
    const parts = ['At each step the model points at one of the points. The dotted line is the rest of its answer.'];
    if (exact.length && exact.join() !== chosen.join()) parts.push('The dashed line is the exact answer.');
    return parts.join(' ');
  }

  at({ clientX, clientY }) {
    const { x, y } = new DOMPoint(clientX, clientY).matrixTransform(this.svg.getScreenCTM().inverse());
    return [x, EXTENT - y].map((value) => Math.round(Math.min(Math.max(value, 0), EXTENT)));
  }

  /** Drag a point, or remove it with a second press; a press elsewhere adds one. */
  press(event) {
    if (!this.header.canEdit || event.button) return;
    const point = event.target.closest('.point')?.dataset.point;
    if (point === undefined) {
      this.add(this.at(event));
      return;
    }
    const isSecond = this.pressed?.point === point && event.timeStamp - this.pressed.time < DOUBLE;
    this.pressed = { point, time: event.timeStamp };
    if (isSecond) {
      this.remove(point);
      return;
    }
    const move = (moved) => { this.points[point] = this.at(moved); this.draw(); };
    this.svg.setPointerCapture(event.pointerId);
    this.svg.addEventListener('pointermove', move);
    this.svg.addEventListener('lostpointercapture', () => {
      this.svg.removeEventListener('pointermove', move);
      this.commit();
    }, { once: true });
  }

  add(place) {
    if (this.points.length < this.header.most) this.commit([...this.points, place]);
  }

  remove(point) {
    if (this.points.length > FEWEST) this.commit(this.points.filter((_, each) => each !== +point));
  }

  keyed(event) {
    const group = event.target.closest('.point');
    const way = NEAR[event.key];
    if (!group || !(way || event.key === 'Delete')) return;
    event.preventDefault();
    const { point } = group.dataset;
    if (!way) {
      this.remove(point);
      return;
    }
    this.points[point] = this.points[point].map((value, n) => Math.min(Math.max(value + way[n], 0), EXTENT));
    this.draw();
    this.commit();
  }

  commit(points = this.points) {
    const text = points.map((point) => point.join()).join(' ');
    if (text !== this.header.points.map((point) => point.join()).join(' ')) this.act('edited', text);
  }

  start() {
    if (this.step === this.header.chosen.length - 1) this.show(0);
    this.play.textContent = 'Pause';
    this.timer = setInterval(() => {
      this.show(this.step + 1);
      if (this.step === this.header.chosen.length - 1) this.pick(this.step);
    }, PAUSE);
  }

  pause() {
    clearInterval(this.timer);
    this.timer = 0;
    this.play.textContent = 'Play';
  }
}

function mount({ data, parentElement, setStateValue, setTriggerValue }) {
  const root = parentElement.querySelector('.points');
  if (!root || !data) return undefined;
  root.model ??= new Points(root);
  root.model.update(readMessage(data), setTriggerValue, (chosen) => setStateValue('selection', chosen));
  return () => root.model.pause();
}
