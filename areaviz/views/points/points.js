// The answer of a pointer network as a drawing that grows step by step. Users drag, add and remove
// points. `act` reports the new points, and `report` the chosen step.

const EXTENT = 1000; // the points are in a square of this size, y upwards
const RADIUS = 31;
const FEWEST = 3; // smallest number of points
const STEP = 20; // how far an arrow key moves a point
const PAUSE = 900; // ms between two steps of Play
const ASIDE = 62; // distance from the middle of a ray to its number
const SEEN = 0.01; // weights below it have no ray
const DOUBLE = 400; // ms between the presses of a double-click

const NEAR = { ArrowLeft: [-STEP, 0], ArrowRight: [STEP, 0], ArrowUp: [0, STEP], ArrowDown: [0, -STEP] };

class Points {
  constructor(root) {
    for (const name of ['drawing', 'say', 'steps', 'play', 'verdict', 'note']) this[name] = root.querySelector(`.${name}`);
    Object.assign(this, { root, svg: root.querySelector('svg') });
    this.svg.addEventListener('pointerdown', (event) => this.press(event));
    this.svg.addEventListener('keydown', (event) => this.keyed(event));
    this.play.addEventListener('click', () => (this.timer ? this.pause() : this.start()));
  }

  /** Draw a result if it is not drawn yet, and go to a step. */
  update({ header }, act, report) {
    Object.assign(this, { act, report });
    if (header.id !== this.header?.id) {
      this.pause();
      this.header = header;
      this.points = header.points.map((point) => [...point]);
      this.root.classList.toggle('editable', Boolean(header.canEdit));
      this.steps.replaceChildren(...header.chosen.map((point, step) => this.row(point, step)));
      this.verdict.textContent = this.comparison();
      this.note.textContent = this.explanation();
    }
    this.show(header.items[0]);
    this.root.dataset.ready = '';
  }

  /** Return a step as a row: the point, and its probability. */
  row(point, step) {
    const button = Object.assign(document.createElement('button'), { type: 'button' });
    const share = this.header.weights[step][point];
    const second = this.second(step);
    const bar = made('span', 'bar');
    bar.style.setProperty('--share', share);
    bar.style.setProperty('--second', second?.share ?? 0);
    const other = second ? `${percent(second.share)} to ${second.point + 1}` : '';
    const label = [`Step ${step + 1}: point ${point + 1}`, percent(share), other].filter(Boolean).join(', ');
    button.setAttribute('aria-label', label);
    button.append(made('span', 'disc', point + 1), bar, made('span', 'part', percent(share)), made('span', 'second', other));
    button.addEventListener('click', () => this.pick(step));
    return button;
  }

  /**
   * The point with the second largest weight at a step, if its share is large enough to be drawn.
   */
  second(step) {
    const { chosen, weights } = this.header;
    const others = weights[step].map((share, point) => (point === chosen[step] ? -1 : share));
    const share = Math.max(...others);
    return share < SEEN ? undefined : { share, point: others.indexOf(share) };
  }

  pick(step) {
    this.pause();
    this.show(step);
    this.report({ id: this.header.id, items: [step] });
  }

  show(step) {
    this.step = step;
    [...this.steps.children].forEach((row, n) => {
      row.className = n < step ? 'done' : n > step ? 'later' : '';
      if (n === step) row.setAttribute('aria-current', 'step');
      else row.removeAttribute('aria-current');
    });
    this.draw();
    this.tell();
  }

  /** Whether the exact answer is known and differs from this answer. */
  get isWrong() {
    const { chosen, exact } = this.header;
    return exact.length > 0 && exact.join() !== chosen.join();
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
    const best = this.isWrong ? exact.slice(1).map((point, n) => this.line(exact[n], point, { class: 'exact' })) : [];
    const rays = this.step ? weights[this.step].flatMap((share, point) => this.ray(share, point)) : [];
    this.drawing.replaceChildren(...best, ...links, ...rays, ...this.points.map((_, point) => this.circle(point)));
    this.drawing.querySelector(`[data-point="${active}"]`)?.focus();
  }

  /**
   * The line from the previous point to a point that the model did not choose at this step, but
   * gave weight.
   */
  ray(share, point) {
    const { chosen } = this.header;
    const from = chosen[this.step - 1];
    if (share < SEEN || point === chosen[this.step] || point === from) return [];
    const [[x, y], [left, top]] = [this.place(from), this.place(point)];
    // The number is to the right of the line.
    const long = Math.hypot(left - x, top - y) * (top < y ? 1 : -1);
    const [right, down] = [((y - top) / long) * ASIDE, ((left - x) / long) * ASIDE];
    const middle = { x: (x + left) / 2 + right, y: (y + top) / 2 + down + 12 };
    const label = drawn(this.svg, 'text', { class: 'share', ...middle }, percent(share));
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
    const start = step ? ` From ${chosen[step - 1] + 1} it points at ` : ' It starts at ';
    const second = this.second(step);
    const end = second
      ? ` with ${share}, but ${percent(second.share)} went to ${second.point + 1}.` : `, ${share} sure.`;
    this.say.replaceChildren(title, start, bold(chosen[step] + 1), end);
  }

  /** Return a comparison of the answer with the exact answer. */
  comparison() {
    const { kind, exact, sizes: [own, best] } = this.header;
    if (!exact.length) return '';
    if (kind === 'hull' && !this.isWrong) return 'The model found the whole hull.';
    if (!best) return '';
    const share = (value) => `${(100 * value).toFixed(1)}\u00a0%`;
    const [length, shortest] = [own, best].map((value) => value.toLocaleString('en'));
    if (kind === 'hull') return `Not quite the hull: the model's has ${share(own / best)} of its area.`;
    if (!this.isWrong || own === best) return `The model found the shortest tour, ${length} long.`;
    return `The tour is ${length} long, ${share(own / best - 1)} longer than the shortest, ${shortest}.`;
  }

  explanation() {
    const parts = ['At each step the model points at one point. Bars show how sure it is. The dotted line is the rest of its answer.'];
    if (this.isWrong) parts.push('The dashed line is the exact answer.');
    return parts.join(' ');
  }

  at({ clientX, clientY }) {
    const { x, y } = new DOMPoint(clientX, clientY).matrixTransform(this.svg.getScreenCTM().inverse());
    return [x, EXTENT - y].map((value) => Math.round(Math.min(Math.max(value, 0), EXTENT)));
  }

  /** Drag a point, remove it with a double-click, or add a point with a press elsewhere. */
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
