// The frame of a question: guess, reveal, one sentence learned, and the ways on. It needs no server. Whether the answer
// is shown is part of the address, so a link to an answer opens at the answer.

class LessonFrame {
  constructor(root) {
    for (const name of ['dots', 'count', 'question', 'hint', 'picture', 'after', 'told', 'learned', 'ways', 'deep']) this[name] = root.querySelector(`.${name}`);
    this.root = root;
  }

  update(data) {
    const mark = JSON.stringify(data);
    if (mark === this.mark) return;
    Object.assign(this, { mark, data, hasGuess: false });
    const { texts, numbers, place, count } = data;
    this.question.textContent = texts.question;
    this.told.textContent = texts.told;
    this.learned.replaceChildren(lessonNode('b', '', `${texts.learnedLabel} `), texts.learned);
    this.count.textContent = texts.progress;
    this.dots.replaceChildren(...Array.from({ length: count }, (_, n) => lessonNode('span', n < place ? 'on' : '')));
    this.show = lessonButton(texts.show, () => this.reveal());
    this.show.className = 'main';
    this.skip = lessonButton(texts.skip, () => this.reveal());
    this.again = lessonButton(texts.again, () => this.clear());
    this.deeper = lessonButton(texts.deeper, () => this.goDeeper(this.deep.hidden));
    this.deep.hidden = true;
    this.made = LESSON_PICTURES[data.picture](this.picture, numbers, (hasGuess) => this.guessed(hasGuess));
    if (data.shown) this.reveal();
    if (data.isDeep) this.goDeeper(true);
    if (!data.shown) this.ask();
    this.root.dataset.ready = '';
  }

  guessed(hasGuess) {
    this.hasGuess = hasGuess;
    this.show.disabled = !hasGuess;
    this.show.classList.toggle('main', hasGuess);
    if (!this.after.hidden && hasGuess) this.hint.textContent = this.data.texts[this.made.verdict()];
  }

  link(label, address, kind = '') {
    return Object.assign(lessonNode('a', kind, label), { href: address });
  }

  ask() {
    const { texts, links } = this.data;
    this.after.hidden = true;
    this.goDeeper(false);
    this.hint.textContent = texts.hint;
    const back = links.back ? [this.link(texts.back, links.back)] : [];
    this.ways.replaceChildren(...back, this.show, this.skip, this.link(texts.all, links.all));
  }

  reveal() {
    const { texts, links } = this.data;
    this.hint.textContent = this.hasGuess ? texts[this.made.verdict()] : texts.hint;
    this.made.reveal();
    this.after.hidden = false;
    const back = links.back ? [this.link(texts.back, links.back)] : [];
    const next = links.next ? [this.link(texts.next, links.next, 'main')] : [];
    this.ways.replaceChildren(...back, ...next, this.again, this.deeper, ...(links.own ? [this.link(texts.own, links.own)] : []), this.link(texts.all, links.all));
    this.markAddress('shown', true);
    (next[0] ?? this.again).focus();
  }

  clear() {
    this.made.clear();
    this.ask();
    this.markAddress('shown', false);
  }

  /** Open or close the explanation, which is drawn when it is first opened. */
  goDeeper(isOpen) {
    const { name, deep } = this.data;
    this.deeper.setAttribute('aria-expanded', String(isOpen));
    if (isOpen) LESSON_DEPTHS[name](this.deep, deep.numbers, deep.texts);
    this.deep.hidden = !isOpen;
    this.markAddress('deep', isOpen);
  }

  markAddress(name, isSet) {
    const address = new URL(location.href);
    if (isSet) address.searchParams.set(name, '1');
    else address.searchParams.delete(name);
    history.replaceState(history.state, '', address.href);
  }
}

function mount({ data, parentElement }) {
  const root = parentElement.querySelector('.lesson');
  if (!root || !data) return;
  root.model ??= new LessonFrame(root);
  root.model.update(data);
}
