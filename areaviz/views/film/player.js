// A sequence of pictures, one for each word of a sentence, which is marked. The sequence does not
// start by itself, and pictures do not blend. A blend would show attention that no word has, and
// more motion than some readers want.

class Player {
  constructor(root) {
    const find = (name) => root.querySelector(`.${name}`);
    Object.assign(this, { root, stage: find('stage'), sentence: find('sentence'), controls: find('controls') });
    Object.assign(this, { button: find('play'), scrubber: find('scrubber'), place: find('place'), at: 0 });
    this.button.addEventListener('click', () => (this.playing ? this.pause() : this.play()));
    this.scrubber.addEventListener('input', () => {
      this.pause();
      this.show(+this.scrubber.value);
    });
  }

  /**
   * Apply a message of the server. If the number of words stays, so does the position, to compare
   * heads.
   */
  update(data) {
    this.root.setAttribute('aria-label', data.label);
    if (JSON.stringify(data) === this.known) return;
    this.known = JSON.stringify(data);
    this.pause();
    const same = data.words.join() === this.words?.join();
    Object.assign(this, { words: data.words, milliseconds: data.milliseconds });
    for (const name of ['title', 'note']) this.root.querySelector(`.${name}`).textContent = data[name];
    this.pictures = data.pictures.map((src, n) => Object.assign(new Image(), { src, alt: this.said(n), decoding: 'sync' }));
    this.marks = data.words.map((word) => Object.assign(document.createElement('bdi'), { textContent: word }));
    this.sentence.replaceChildren(...this.marks.flatMap((mark) => [mark, ' ']));
    this.controls.hidden = data.words.length < 2;
    this.scrubber.max = data.words.length - 1;
    this.show(same ? this.at : 0);
    this.root.dataset.ready = '';
  }

  said(number) { return `${this.words[number]}, word ${number + 1} of ${this.words.length}`; }

  show(number) {
    this.at = number;
    this.stage.replaceChildren(this.pictures[number]);
    this.marks.forEach((mark, n) => (n === number ? mark.setAttribute('aria-current', 'true') : mark.removeAttribute('aria-current')));
    this.scrubber.value = number;
    this.scrubber.setAttribute('aria-valuetext', this.said(number));
    this.place.textContent = `${number + 1} of ${this.words.length}`;
  }

  /** Play from the shown word, or from the first word if the last one is shown. */
  play() {
    this.mark(true);
    if (this.at === this.words.length - 1) this.show(0);
    this.timer = setInterval(() => this.step(), this.milliseconds);
  }

  step() {
    this.show(this.at + 1);
    if (this.at === this.words.length - 1) this.pause();
  }

  pause() {
    clearInterval(this.timer);
    this.mark(false);
  }

  mark(playing) {
    this.playing = playing;
    this.button.textContent = playing ? 'Pause' : 'Play';
  }
}

function mount({ data, parentElement }) {
  const root = parentElement.querySelector('.player');
  if (!root || !data) return undefined;
  root.model ??= new Player(root);
  root.model.update(data);
  return () => { root.model?.pause(); };
}
