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
