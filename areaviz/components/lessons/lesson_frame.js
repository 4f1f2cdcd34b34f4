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
