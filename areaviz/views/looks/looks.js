// Several models ("readers") look at one picture in the same steps. The component shows the place
// of each look, the answer of each reader, and a sentence about all of them. It opens at the look
// that the page names, and moves only after Play.

const PACE = 1400; // milliseconds for which a look is shown

/** A picture on which looks are drawn. */
function sketch(blank, source, [width, height]) {
  const picture = blank.cloneNode();
  picture.setAttribute('viewBox', `0 0 ${width} ${height}`);
  picture.append(drawn(picture, 'image', { href: source, width, height }), drawn(picture, 'g', {}));
  return picture;
}

/** Draw the frames of one look, widest first, and the middles of all looks so far. */
function drawRead(picture, { corners, size }, look, alt) {
  picture.setAttribute('aria-label', alt);
  const frames = corners[look].toReversed().flatMap((frame) => (
    ['edge', 'frame'].map((name) => drawn(picture, 'polygon', { class: name, points: frame.join(' ') }))));
  const middles = corners.slice(0, look + 1).map(([frame]) => (
    [0, 1].map((axis) => frame.reduce((sum, corner) => sum + corner[axis], 0) / frame.length)));
  const path = drawn(picture, 'polyline', { class: 'path', points: middles.join(' ') });
  const dots = middles.map(([cx, cy], step) => (
    drawn(picture, 'circle', { class: step === look ? 'newest' : 'dot', cx, cy, r: Math.max(...size) / 75 })));
  picture.lastChild.replaceChildren(...frames, ...(corners.length > 1 ? [path, ...dots] : []));
}

class Looks {
  constructor(root) {
    for (const name of ['cards', 'controls', 'play', 'steps', 'say']) this[name] = root.querySelector(`.${name}`);
    Object.assign(this, { root, look: 0, clicks: 0, blank: root.querySelector('template').content.firstChild });
    this.still = globalThis.matchMedia('(prefers-reduced-motion: reduce)');
    this.play.addEventListener('click', () => this.press());
  }

  /** Apply a message of the server. The first one has the readings, and each has the look. */
  update(data, report) {
    this.report = report;
    const isNew = data.id !== this.data?.id;
    if (isNew) this.load(data);
    if (isNew || !this.timer) this.show(data.items[0]);
  }

  load(data) {
    this.pause();
    this.data = data;
    this.most = Math.max(...data.readers.map(({ labels }) => labels.length));
    this.readings = data.readers.map((reader) => this.card(reader));
    this.cards.replaceChildren(...this.readings.map(({ card }) => card));
    this.controls.hidden = this.most < 2;
    this.buttons = Array.from({ length: this.most }, (_, look) => {
      const button = made('button', '', `${look + 1}`);
      Object.assign(button, { type: 'button', ariaLabel: `Look ${look + 1}` });
      button.addEventListener('click', () => this.choose(look));
      return button;
    });
    this.steps.replaceChildren(...this.buttons);
    this.root.dataset.ready = '';
  }

  card(reader) {
    const [card, answer, read] = [made('article', 'card'), made('p', 'answer'), made('p', 'read')];
    const picture = reader.corners ? sketch(this.blank, this.data.source, reader.size) : new Image();
    picture.dataset.lit = '';
    const notes = reader.notes.map((note) => made('p', 'note', note));
    card.append(made('h2', '', reader.title), made('p', 'what', reader.what), picture, answer, read, ...notes);
    return { reader, card, picture, answer, read };
  }

  show(look) {
    this.look = Math.min(look, this.most - 1);
    for (const reading of this.readings) this.draw(reading);
    this.buttons.forEach((button, step) => button.setAttribute('aria-pressed', String(step === this.look)));
    this.play.textContent = this.timer ? 'Pause' : this.still.matches ? 'Next look' : '▶ Play all looks';
    this.tell();
  }

  /** The number of a reader's own look at this step, and its label then. */
  at({ labels }) {
    const seen = Math.min(this.look, labels.length - 1);
    return { seen, label: labels[seen], isLast: seen === labels.length - 1 };
  }

  draw({ reader, picture, answer, read }) {
    const { digits } = this.data;
    const { seen, label, isLast } = this.at(reader);
    const isKnown = digits.length === 1;
    const isWrong = isKnown && label !== digits;
    const only = this.most > 1 && reader.labels.length === 1 ? ' after its only look' : '';
    const alt = `${reader.title}: what look ${seen + 1} read`;
    if (reader.corners) drawRead(picture, reader, seen, alt);
    else Object.assign(picture, { src: reader.pictures[seen], alt });
    const wrong = isLast ? `, wrong: it shows ${digits}` : ', wrong so far';
    answer.replaceChildren(made('b', '', label), `${reader.sure[seen]}\u00a0% sure${only}${isWrong ? wrong : ''}`);
    answer.classList.toggle('wrong', isWrong);
    answer.classList.toggle('right', isKnown && !isWrong);
    read.textContent = reader.answer.length > 1 ? `Digits read: ${this.readSoFar(reader, seen)}` : '';
  }

  /**
   * The digits of an answer that are read after a look. Each digit takes an equal number of looks.
   */
  readSoFar({ answer, labels }, seen) {
    const { digits } = this.data;
    const done = [...answer].slice(0, Math.floor((answer.length * (seen + 1)) / labels.length));
    const isWrong = digits && done.length === answer.length && [...answer].sort().join() !== [...digits].sort().join();
    return `${done.join(' ') || '–'}${isWrong ? `, wrong: it shows ${[...digits].join(' and ')}` : ''}`;
  }

  // The sentence

  tell() {
    const { digits, readers } = this.data;
    const parts = this.most > 1 ? [made('b', '', `Look ${this.look + 1} of ${this.most}. `)] : [];
    if (digits.length !== 1) {
      this.say.replaceChildren(...parts, readers.length > 1 ? 'Each model shows what it has read so far.' : 'The frames show what it has read so far.');
      return;
    }
    const wrong = readers.filter((reader) => this.at(reader).label !== digits);
    for (const reader of wrong) {
      const { label, seen } = this.at(reader);
      const later = this.rightFrom(reader, seen);
      parts.push(`“${reader.title}” says `, made('b', '', label), ', which is wrong', ...(later ? [`. From look ${later} on, it says `, made('b', '', digits)] : []), '. ');
    }
    const right = readers.length - wrong.length;
    const all = right === readers.length ? 'Every model reads the digit.' : `${right} of ${readers.length} models read the digit.`;
    this.say.replaceChildren(...parts, right ? all : '');
  }

  /**
   * The first look after `seen`, counted from 1, from which a reader always predicts the right
   * digits, or 0.
   */
  rightFrom({ labels }, seen) {
    let first = labels.length;
    while (first > seen + 1 && labels[first - 1] === this.data.digits) first -= 1;
    return first < labels.length ? first + 1 : 0;
  }

  // The clock

  choose(look) {
    this.pause();
    this.show(look);
    this.tellServer();
  }

  /** Play from the first look to the last. With reduced motion, a press shows the next look. */
  press() {
    if (this.timer) this.choose(this.look);
    else if (this.still.matches) this.choose((this.look + 1) % this.most);
    else {
      this.timer = setInterval(() => this.step(), PACE);
      this.show(this.look === this.most - 1 ? 0 : this.look);
    }
  }

  step() {
    if (this.look + 1 === this.most - 1) this.choose(this.most - 1);
    else this.show(this.look + 1);
  }

  pause() {
    clearInterval(this.timer);
    this.timer = undefined;
  }

  tellServer() {
    this.clicks += 1;
    this.report({ id: this.data.id, click: this.clicks, items: [this.look] });
  }
}

function mount({ data, parentElement, setStateValue }) {
  const root = parentElement.querySelector('.looks');
  if (!root || !data) return undefined;
  root.model ??= new Looks(root);
  root.model.update(readMessage(data).header, (chosen) => setStateValue('selection', chosen));
  return () => { root.model?.pause(); };
}
