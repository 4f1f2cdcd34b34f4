// One moment of the animation as SVG. A scene has two rows of chips, the written text
// above and the read text below, with as many neighbours of the area and of the word as fit. All
// positions are computed from the time, so any moment can be drawn.

const SCENE = { height: 300, edge: 16, ends: 60, key: 104, farthest: 48 }; // pixels; `ends` of a row stay free, half of it if narrow

/**
 * A text as parts {text, isChosen}: chips, cut where the chosen items begin and end. Blanks between
 * words are left out.
 */
function chipParts(layout, isChosen) {
  const parts = [];
  for (let item = 0; item < layout.items.count; item += 1) {
    const chosen = isChosen(item);
    if (layout.isBlank(item) && !chosen) continue;
    const before = parts.at(-1);
    const goesOn = before?.last === item - 1 && before.isChosen === chosen && layout.chipOf[item] === layout.chipOf[item - 1];
    if (goesOn) before.last = item;
    else parts.push({ first: item, last: item, isChosen: chosen });
  }
  return parts.map((part) => ({ ...part, text: shown(layout.items.run(part.first, part.last)).text }));
}

/**
 * The progress, 0 to 1, of a movement from `start` to `end` seconds at `time`. It is slow at both
 * ends.
 */
function eased(time, start, end) {
  const part = Math.min(Math.max((time - start) / (end - start), 0), 1);
  return part * part * (3 - 2 * part);
}

class PlayScene {
  constructor(svg) { this.svg = svg; }

  /** Lay out a story in the available width. `measure(text, size)` is in pixels. */
  load(story, width, measure) {
    const isNarrow = width < NARROW;
    const sizes = isNarrow ? COMPACT : ROOMY;
    Object.assign(this, { story, width, sizes, ends: isNarrow ? SCENE.ends / 2 : SCENE.ends });
    this.svg.setAttribute('viewBox', `0 0 ${width} ${SCENE.height}`);
    this.svg.style.setProperty('--size', `${sizes.font}px`);
    this.low = SCENE.height - sizes.chip - SCENE.edge; // the top of the lower row
    this.high = 4;
    this.below = this.row(story.given, measure, this.low);
    this.above = this.row(story.out, measure, this.high);
    this.merge();
  }

  /** The chosen parts and the neighbours that fit, each with its place. */
  row({ parts, isReversed }, measure, y) {
    const { font, padding, gap } = this.sizes;
    const sized = parts.map((part) => ({ ...part, y, width: measure(part.text, font) + 2 * padding }));
    const room = this.width - 2 * this.ends;
    const [kept, isCut] = this.window(sized, room, gap);
    const used = kept.reduce((sum, { width }) => sum + width, 0);
    const between = Math.min(SCENE.farthest, Math.max(gap, (room - used) / Math.max(kept.length - 1, 1)));
    let x = this.ends;
    for (const part of kept) {
      part.x = isReversed ? this.width - x - part.width : x;
      x += part.width + between;
    }
    return Object.assign(kept, { isCut, isReversed });
  }

  /**
   * The parts around the chosen parts that fit into `room`. If the chosen run does not fit, only
   * its two ends.
   */
  window(parts, room, gap) {
    let from = parts.findIndex(({ isChosen }) => isChosen);
    let to = parts.findLastIndex(({ isChosen }) => isChosen);
    const wide = (some) => some.reduce((sum, { width }) => sum + width + gap, -gap);
    if (wide(parts.slice(from, to + 1)) > room) return [[parts[from], ...(to > from ? [parts[to]] : [])], [from > 0, to < parts.length - 1]];
    for (let grew = true; grew;) {
      grew = false;
      if (from > 0 && wide(parts.slice(from - 1, to + 1)) <= room) [from, grew] = [from - 1, true];
      if (to < parts.length - 1 && wide(parts.slice(from, to + 2)) <= room) [to, grew] = [to + 1, true];
    }
    return [parts.slice(from, to + 1), [from > 0, to < parts.length - 1]];
  }

  /** The places of the area's parts when they become one: next to each other in its middle. */
  merge() {
    const own = this.below.filter(({ isChosen }) => isChosen);
    const inOrder = this.below.isReversed ? [...own].reverse() : own;
    const [first, last] = [inOrder[0], inOrder.at(-1)];
    const whole = inOrder.reduce((sum, { width }) => sum + width + 8, -8);
    this.middle = (first.x + last.x + last.width) / 2;
    let x = this.middle - whole / 2;
    for (const part of inOrder) {
      part.merged = x;
      x += part.width + 8;
    }
    this.own = inOrder;
    this.half = whole / 2 + 10;
    const [word] = this.above.filter(({ isChosen }) => isChosen);
    this.word = word.x + word.width / 2;
  }

  draw(time) {
    const moved = eased(time, 1.8, 3.4);
    const [box, key, ask, flow] = [eased(time, 2.6, 3.8), eased(time, 4, 5.6), eased(time, 6, 7.2), eased(time, 8, 9.3)];
    this.svg.replaceChildren();
    for (const part of this.own) part.now = part.x + (part.merged - part.x) * moved;
    this.questions(ask, flow);
    this.thread(time, ask, flow);
    this.area(box);
    this.key(time, key, ask);
    for (const part of this.below) this.read(part, box, moved);
    for (const part of this.above) this.written(part, flow);
    this.cuts(this.below);
    this.cuts(this.above);
    if (ask > 0.5) this.amount(eased(time, 6.8, 7.4));
  }

  get keyTop() { return this.low - SCENE.key; }

  get wordFoot() { return this.high + this.sizes.chip + 1; }

  /** Draw the question, which goes to every word. */
  questions(ask, flow) {
    if (!ask) return;
    for (const part of this.below) {
      const x = (part.now ?? part.x) + part.width / 2;
      const d = `M${x},${this.low - 4}C${x},${this.low - 80} ${this.word},${this.wordFoot + 90} ${this.word},${this.wordFoot}`;
      this.add('path', 'question', { d, opacity: 0.8 * ask * (1 - 0.75 * flow) });
    }
  }

  /**
   * Draw the thread from the key to the word. It grows to the thickness of its weight, twice as
   * thick as in the ribbon, and three beads move along it.
   */
  thread(time, ask, flow) {
    if (!ask) return;
    const [top, foot] = [this.keyTop, this.wordFoot];
    const bend = (top - foot) / 2.4;
    const ends = [[this.middle, top], [this.middle, top - bend], [this.word, foot + bend], [this.word, foot]];
    const thick = 3 + (2 * THICKEST * this.story.weight - 3) * flow;
    const d = `M${ends[0]}C${ends.slice(1).join(' ')}`;
    this.add('path', 'thread', { d, 'stroke-width': Math.max(thick, 3), opacity: 0.4 + 0.4 * flow, pathLength: 1, 'stroke-dasharray': `${ask} 1` });
    if (flow >= 1) return;
    for (const late of [0, 0.18, 0.36]) {
      const part = time - 8 - late;
      if (part > 0 && part < 1) this.add('circle', 'bead', { ...alongCurve(ends, part), r: 6 });
    }
  }

  area(box) {
    if (!box) return;
    const { chip } = this.sizes;
    this.add('rect', 'area', { x: this.middle - this.half, y: this.low - 8, width: 2 * this.half, height: chip + 16, rx: 12, opacity: box });
  }

  /** Draw lines from the ends of the area, or from all of its parts, to one key. */
  key(time, key, ask) {
    if (!key) return;
    const [top, foot] = [this.keyTop + 34, this.low - 8];
    const ends = this.story.keys === 'boundary' ? [...new Set([this.own[0], this.own.at(-1)])] : this.own;
    for (const part of ends) {
      const x = part.now + part.width / 2;
      const to = x + (this.middle - x) * key;
      const y = foot + (top - foot) * key;
      this.add('path', 'join', { d: `M${x},${foot}C${x},${foot + (y - foot) * 0.7} ${to},${foot + (y - foot) * 0.4} ${to},${y}` });
    }
    const grown = eased(time, 5, 5.7);
    if (grown) this.pill(grown);
    const shown = key * (1 - ask);
    if (shown < 0.05 || ends.length !== 2 || this.story.keys !== 'boundary') return;
    const [begins, ends_] = [sentence('begins'), sentence('ends')];
    const [begin, end] = this.below.isReversed ? [ends_, begins] : [begins, ends_];
    const [left, right] = [ends[0].now + ends[0].width / 2 - 16, ends[1].now + ends[1].width / 2 + 16];
    this.label(begin, left, this.low - 34, { 'text-anchor': 'end', opacity: shown });
    this.label(end, right, this.low - 34, { 'text-anchor': 'start', opacity: shown });
  }

  pill(grown) {
    const [wide, high] = [92 * grown, 34 * grown];
    const y = this.keyTop + 17;
    this.add('rect', 'pill', { x: this.middle - wide / 2, y: y - high / 2, width: wide, height: high, rx: high / 2 });
    if (grown > 0.9) this.label(sentence('one key'), this.middle, y + 5.5);
  }

  read(part, box, moved) {
    const aside = part.isChosen ? 1 : 1 - 0.5 * moved;
    const x = part.now ?? part.x;
    this.chip(part.isChosen && box > 0.5 ? 'taken' : '', { ...part, x }, part.text, aside);
  }

  /** Draw a word of the upper row: already written, being written, or not yet written. */
  written(part, flow) {
    if (part.isChosen) {
      const isDone = !this.story.isWritten || flow > 0.8;
      this.chip(isDone ? 'pointed' : 'slot', part, isDone ? part.text : '?', 1);
    } else this.chip(part.isLater ? 'later' : '', part, part.isLater ? '' : part.text, 1);
  }

  chip(kind, { x, y, width }, text, opacity) {
    const { chip, font } = this.sizes;
    this.add('rect', `chip ${kind}`, { x, y, width, height: chip, rx: 7, opacity });
    const dim = Math.max(opacity, 0.75); // a text stays readable
    if (text) this.add('text', `word ${kind}`, { x: x + width / 2, y: y + chip / 2 + font * 0.34, opacity: dim }, text);
  }

  /** Draw dots at the ends of a row that continues. */
  cuts(row) {
    const places = row.isReversed ? [row[0].x + row[0].width + 22, row.at(-1).x - 22] : [row[0].x - 22, row.at(-1).x + row.at(-1).width + 22];
    const y = row[0].y + this.sizes.chip / 2 + 5;
    places.forEach((x, end) => { if (row.isCut[end]) this.label('…', x, y); });
  }

  amount(opacity) {
    const middle = (this.middle + this.word) / 2;
    const isRoom = middle > 90;
    const x = middle + (isRoom ? -1 : 1) * (THICKEST * this.story.weight + 26);
    this.label(this.story.share, x, (this.keyTop + this.wordFoot) / 2 + 6, { 'text-anchor': isRoom ? 'end' : 'start', opacity });
  }

  label(text, x, y, more = {}) { this.add('text', 'label', { x, y, ...more }, text); }

  add(tag, name, attributes, text = '') {
    const made = document.createElementNS(this.svg.namespaceURI, tag);
    made.setAttribute('class', name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.textContent = text;
    this.svg.append(made);
  }
}

/** The point of a cubic Bézier curve at the parameter `part`, 0 to 1, as the middle of a circle. */
function alongCurve([a, b, c, d], part) {
  const rest = 1 - part;
  const at = (i) => rest ** 3 * a[i] + 3 * rest ** 2 * part * b[i] + 3 * rest * part ** 2 * c[i] + part ** 3 * d[i];
  return { cx: at(0), cy: at(1) };
}

// An animation of ten seconds that explains attention for one word: neighbours become one area, the
// area gets a key, the word asks every area, and the weight flows to the word. It moves only after
// Play. With reduced motion, Next shows five still pictures.

const SECONDS = 10;
const STARTS = [0, 1.8, 4, 6, 8.2]; // of the five sentences, in seconds
const STILLS = [1.7, 3.9, 5.9, 7.9, SECONDS];
const LONGEST_DONE = 40; // most characters of the text written so far that a sentence repeats

/**
 * The content of the animation for the span that `items` of the query attend to: {given, out,
 * weight, share, keys, isWritten, sentences}. `given` and `out` are rows {parts, isReversed}.
 * `scene` and `legend` have the words of the ribbon for that span.
 */
function playStory({ query, memory, items, span, scene, legend, hasAreas, keys }) {
  const isTaken = (item) => item >= span.start && item < span.start + span.length;
  const isWritten = legend.header.written;
  const isWord = scene.unit === 'word';
  const sentences = playSentences({
    item: noun(isWord ? 'words' : `${query.items.level}s`, 1), items: noun(isWord ? 'words' : legend.plural, 2), hasAreas, keys, isWritten,
    what: scene.what, share: share(span), area: legend.named(span, memory.items), isOne: !legend.isTakenAsOne(span, scene),
    done: doneBefore(query.items, items[0]), head: legend.header.heads > 1 ? span.head + 1 : null, more: legend.averaged(scene),
  });
  const last = Math.max(...items);
  const out = chipParts(query.layout, (item) => items.includes(item)).map((part) => ({ ...part, isLater: isWritten && part.first > last }));
  return {
    given: { parts: chipParts(memory.layout, isTaken), isReversed: memory.items.rightToLeft },
    out: { parts: out, isReversed: query.items.rightToLeft },
    weight: span.weight, share: share(span), keys, isWritten, sentences,
  };
}

/** The end of the text before an item, in quotes. */
function doneBefore(items, first) {
  const text = first > 0 ? Array.from(items.run(0, first - 1)) : [];
  return text.length ? quoted(`${text.length > LONGEST_DONE ? '…' : ''}${text.slice(-LONGEST_DONE).join('').trim()}`) : '';
}

/**
 * The five sentences. `isOne` says that the area is a single word, and `done` is the text written
 * so far.
 */
function playSentences(told) {
  const { hasAreas, keys, isWritten, isOne, done, head } = told;
  const ready = done ? sentence('The model has written {done} and needs the next {item}. It can read the text below.', told)
    : sentence('The model has written nothing yet and needs the next {item}. It can read the text below.', told);
  const alone = hasAreas ? sentence('It can take several neighbours as one area. Here the area is {area} alone.', told)
    : sentence('It looks at one {item} at a time, such as {area}.', told);
  const made = keys === 'boundary'
    ? sentence('The area gets one key, made from where it begins and where it ends. The key says what the area offers.')
    : sentence('The area gets one key, made from its {items}. The key says what the area offers.', told);
  return [
    isWritten ? ready : sentence('The model reads {what} and looks for what belongs to it.', told),
    isOne ? alone : sentence('It can take several neighbours as one. Here {area} becomes one area.', told),
    isOne ? sentence('{area} has a key, which says what it offers.', told) : made,
    head ? sentence('The model compares what it needs with every key. {share} of the weight of head {head} goes to {area}{more}.', told)
      : sentence('The model compares what it needs with every key. {share} of the weight goes to {area}{more}.', told),
    isWritten ? sentence('The content of {area} flows up and helps to write {what}.', told)
      : sentence('The content of {area} flows up and becomes part of {what}.', told),
  ];
}

class Play {
  constructor(root, { story, measure, onClose }) {
    const find = (name) => root.querySelector(name);
    Object.assign(this, { root, story, measure, onClose, figure: find('.play'), opener: find('.opener'), told: find('.step') });
    Object.assign(this, { button: find('.go'), bar: find('.progress'), scene: new PlayScene(find('.scene')), time: 0 });
    this.opener.onclick = () => this.open();
    this.button.onclick = () => this.press();
    find('.close').onclick = () => this.close();
    this.figure.onkeydown = (event) => this.key(event);
    this.calm = matchMedia('(prefers-reduced-motion: reduce)');
    this.name();
  }

  get isOpen() { return !this.figure.hidden; }

  get isCalm() { return this.calm.matches; }

  get step() { return STARTS.findLastIndex((start) => this.time >= start); }

  /** Name the buttons after the effect of the next press. */
  name() {
    this.opener.textContent = this.isCalm ? sentence('Show the 5 steps') : sentence('Play the steps, {seconds} s', { seconds: SECONDS });
    this.button.toggleAttribute('data-done', !this.frame && this.time >= SECONDS);
    if (this.frame) this.button.textContent = sentence('Pause');
    else if (this.time >= SECONDS) this.button.textContent = this.isCalm ? sentence('Start again') : sentence('Play again');
    else this.button.textContent = this.isCalm ? sentence('Next') : sentence('Continue');
  }

  open() {
    const told = this.story();
    if (!told) return;
    this.figure.style.minHeight = `${this.root.clientHeight}px`;
    this.figure.hidden = false;
    this.root.classList.add('playing');
    Object.assign(this, { now: told, time: 0 });
    this.lay();
    this.button.focus();
    this.begin();
  }

  close() {
    if (!this.isOpen) return;
    this.pause();
    this.figure.hidden = true;
    this.root.classList.remove('playing');
    this.onClose();
    this.opener.focus();
  }

  /** Fit the scene to the available width. */
  lay() {
    this.scene.load(this.now, this.figure.clientWidth, this.measure);
    this.show(this.time);
  }

  begin() {
    if (this.isCalm) this.show(STILLS[0]);
    else this.run(0);
  }

  press() {
    if (this.frame) this.pause();
    else if (this.time >= SECONDS) this.begin();
    else if (this.isCalm) this.show(STILLS[this.step + 1]);
    else this.run(this.time);
  }

  run(from) {
    const started = performance.now() - from * 1000;
    const draw = (now) => {
      const time = Math.min(Math.max((now - started) / 1000, from), SECONDS);
      this.frame = time < SECONDS ? requestAnimationFrame(draw) : undefined;
      this.show(time);
    };
    this.frame = requestAnimationFrame(draw);
    this.show(from);
  }

  pause() {
    cancelAnimationFrame(this.frame);
    this.frame = undefined;
    this.name();
  }

  show(time) {
    this.time = time;
    this.scene.draw(time);
    this.bar.style.setProperty('--done', `${(time / SECONDS) * 100}%`);
    const told = this.now.sentences[this.step];
    if (this.told.textContent !== told) this.told.replaceChildren(...withBoldQuotes(told));
    this.name();
  }

  /** Handle a key: arrows show the next or the previous still picture, Escape closes. */
  key(event) {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (event.key === 'Escape') this.close();
    else if (step) {
      this.pause();
      this.show(STILLS[Math.min(Math.max(this.step + step, 0), STILLS.length - 1)]);
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }
}
