// All questions in a list.

/** Draw the list into its section. `address` completes a link. */
function drawLessonIndex(root, { questions, texts }, address) {
  const link = (label, to, kind = '') => Object.assign(lessonNode('a', kind, label), { href: address(to) });
  root.querySelector('.intro').textContent = texts.intro;
  root.querySelector('.papers').textContent = texts.papers;
  root.querySelector('.ways').replaceChildren(link(texts.start, questions[0].href, 'main'));
  root.querySelector('.list').replaceChildren(...questions.map(({ title, href }) => {
    const item = lessonNode('li', '');
    item.append(link(title, href));
    return item;
  }));
  root.dataset.ready = '';
}

// The frame of a question. It shows the guess, the right answer, one sentence to learn, and links
// to other pages. It needs no server.

class LessonFrame {
  constructor(root, data, path) {
    for (const name of ['dots', 'count', 'question', 'hint', 'picture', 'after', 'told', 'learned', 'ways', 'deep']) this[name] = root.querySelector(`.${name}`);
    Object.assign(this, { root, data, path, hasGuess: false });
    const { texts, numbers, place, count } = data;
    this.question.textContent = texts.question;
    this.told.textContent = texts.told;
    this.learned.replaceChildren(lessonNode('b', '', `${texts.learnedLabel} `), texts.learned);
    this.count.textContent = texts.progress;
    this.dots.replaceChildren(...Array.from({ length: count }, (_, n) => lessonNode('span', n < place ? 'on' : '')));
    this.check = lessonButton(texts.show, () => this.reveal());
    this.skip = lessonButton(texts.skip, () => this.reveal());
    this.again = lessonButton(texts.again, () => this.clear());
    this.deeper = lessonButton(texts.deeper, () => this.goDeeper(this.deep.hidden));
    this.made = LESSON_PICTURES[data.picture](this.picture, numbers, (hasGuess) => this.guessed(hasGuess));
    this.ask();
    root.dataset.ready = '';
  }

  /**
   * Open the answer and the explanation if the address says so. Parts that the reader has opened
   * stay open.
   */
  open(isShown, isDeep) {
    if ((isShown || isDeep) && this.after.hidden) this.showAnswer();
    if (isDeep && this.deep.hidden) this.setDeep(true);
    this.tell();
  }

  tell() {
    this.path.mark(!this.after.hidden, !this.deep.hidden);
  }

  guessed(hasGuess) {
    this.hasGuess = hasGuess;
    this.check.disabled = !hasGuess;
    this.check.classList.toggle('main', hasGuess);
    if (!this.after.hidden && hasGuess) this.hint.textContent = this.data.texts[this.made.verdict()];
  }

  /** Set the links and buttons in a row. A link with an empty address is left out. */
  setWays(...ways) {
    const parts = ways.map((way) => {
      if (way instanceof Node) return way;
      const [name, kind] = way;
      const to = this.data.links[name];
      return to ? Object.assign(lessonNode('a', kind, this.data.texts[name]), { href: this.path.address(to) }) : '';
    });
    this.ways.replaceChildren(...parts.filter(Boolean));
  }

  ask() {
    this.after.hidden = true;
    this.setDeep(false);
    this.hint.textContent = this.data.texts.hint;
    this.setWays(['back', ''], this.check, this.skip, ['all', '']);
  }

  showAnswer() {
    const { texts } = this.data;
    this.hint.textContent = this.hasGuess ? texts[this.made.verdict()] : texts.hint;
    this.made.reveal();
    this.after.hidden = false;
    this.setWays(['back', ''], ['next', 'main'], this.again, this.deeper, ['own', ''], ['all', '']);
  }

  reveal() {
    this.showAnswer();
    this.tell();
    (this.ways.querySelector('.main') ?? this.again).focus();
  }

  clear() {
    this.made.clear();
    this.ask();
    this.tell();
    this.question.focus({ preventScroll: true });
  }

  goDeeper(isOpen) {
    this.setDeep(isOpen);
    this.tell();
  }

  /** Open or close the explanation, which is drawn when it is opened. */
  setDeep(isOpen) {
    const { name, deep } = this.data;
    this.deeper.setAttribute('aria-expanded', String(isOpen));
    if (isOpen) LESSON_DEPTHS[name](this.deep, deep.numbers, deep.texts);
    this.deep.hidden = !isOpen;
  }
}

// The sequence of questions. The address says which question is shown, and whether its answer and
// its explanation are shown. All questions are loaded at once, so the next one needs no server. A
// guess is kept until the reader leaves the page.

class LessonPath {
  constructor(root) {
    [this.blank, this.index] = root.querySelectorAll('.lesson');
    root.replaceChildren();
    this.root = root;
    this.pathname = location.pathname;
    this.listeners = new AbortController();
    addEventListener('popstate', () => this.follow(), this.listeners);
    root.addEventListener('click', (event) => this.press(event));
  }

  /**
   * @param {object} data `questions` by their numbers, `index` with all titles, and `place`, the
   *   number of the question if the address has none
   */
  update(data) {
    const mark = JSON.stringify(data);
    if (mark === this.known) return;
    Object.assign(this, { known: mark, data, frames: new Map() });
    const old = data.index?.old[location.hash.slice(1)];
    // Old addresses have the name of a lesson after "#", which browsers do not send to the server.
    if (old) this.goTo(this.address(old), false);
    else this.follow();
    performance.mark('areaviz:lesson');
  }

  /** Return the address of a question, in the language of the present address. */
  address(to) {
    const address = new URL(to, location.href);
    const language = new URL(location.href).searchParams.get('lang');
    if (language && to) address.searchParams.set('lang', language);
    return address.href;
  }

  /** Show the question that the address names. */
  follow() {
    if (location.pathname !== this.pathname) return;
    const { searchParams } = new URL(location.href);
    const place = this.placeOf(searchParams);
    if (place === null) {
      drawLessonIndex(this.index, this.data.index, (to) => this.address(to));
      this.show(this.index);
      return;
    }
    if (!this.frames.has(place)) this.frames.set(place, new LessonFrame(this.blank.cloneNode(true), this.data.questions[place], this));
    const frame = this.frames.get(place);
    this.show(frame.root);
    frame.open(searchParams.get('shown') === '1', searchParams.get('deep') === '1');
  }

  /**
   * The number of an address's question, null for the list, or undefined if the question is not
   * here.
   */
  placeOf(searchParams) {
    const place = searchParams.get('q') ?? this.data.place ?? null;
    if (place === null || !/^\d+$/.test(place)) return this.data.index ? null : undefined;
    return place in this.data.questions ? String(place) : undefined;
  }

  destroy() {
    this.listeners.abort();
    this.root.replaceChildren(this.blank, this.index);
  }

  show(section) {
    if (this.root.firstChild !== section) this.root.replaceChildren(section);
  }

  /**
   * Follow a link to another question without the server, unless the reader opens it in a new tab.
   */
  press(event) {
    const link = event.target.closest?.('a');
    if (!link || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    const { pathname, searchParams } = new URL(link.href);
    if (pathname !== location.pathname || this.placeOf(searchParams) === undefined) return;
    event.preventDefault();
    this.goTo(link.href, true);
    scrollTo(0, 0);
    this.root.querySelector('.question')?.focus({ preventScroll: true });
  }

  /**
   * Change the address and show its question. Streamlit is told by the event of the Back button.
   */
  goTo(address, isNew) {
    if (address === location.href) return;
    if (isNew) history.pushState({}, '', address);
    else history.replaceState(history.state, '', address);
    dispatchEvent(new PopStateEvent('popstate', { state: history.state }));
  }

  /** Write into the address which parts of the question are shown. */
  mark(shown, deep) {
    const address = new URL(location.href);
    for (const [name, isSet] of Object.entries({ shown, deep })) {
      if (isSet) address.searchParams.set(name, '1');
      else address.searchParams.delete(name);
    }
    this.goTo(address.href, false);
  }
}

function mount({ data, parentElement }) {
  const root = parentElement.querySelector('.lessons');
  if (!root || !data) return undefined;
  root.model ??= new LessonPath(root);
  root.model.update(data);
  return () => { root.model?.destroy(); root.model = undefined; };
}
