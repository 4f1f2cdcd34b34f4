// A sound to play, below a picture of the moments to which every item of the output attended. While
// the sound plays, a line moves over both, and the item that attended most to the moment is
// highlighted.

const ROW = 32;

class Hearing {
  constructor(root) {
    const find = (name) => root.querySelector(`.${name}`);
    const parts = ['say', 'hint', 'rows', 'time', 'alignment', 'sound', 'marks', 'cursor', 'seconds', 'play', 'scrubber', 'place'];
    Object.assign(this, { root, audio: root.querySelector('audio'), chosen: -1 });
    for (const name of parts) this[name] = find(name);
    this.play.addEventListener('click', () => (this.audio.paused ? this.audio.play() : this.audio.pause()));
    this.scrubber.addEventListener('input', () => this.move(+this.scrubber.value));
    this.time.addEventListener('click', (event) => this.clicked(event));
    this.time.addEventListener('mousemove', (event) => this.pointed(event));
    this.time.addEventListener('mouseleave', () => this.tell());
    for (const event of ['play', 'pause', 'ended']) this.audio.addEventListener(event, () => this.mark());
    this.audio.addEventListener('timeupdate', () => this.show());
  }

  /** Apply a message of the server. The first one has the sound, and each has the chosen row. */
  update(data, report) {
    this.report = report;
    if (data.id !== this.data?.id) this.draw(data);
    this.choose(data.items[0] ?? -1);
  }

  draw(data) {
    this.data = data;
    this.root.setAttribute('aria-label', data.label);
    this.audio.src = data.audio;
    Object.assign(this.alignment, { src: data.alignment, alt: data.label });
    this.alignment.style.width = `${(100 * data.edges.at(-1)) / data.seconds}%`;
    this.alignment.style.height = `${ROW * data.rows.length}px`;
    Object.assign(this.sound, { src: data.sound, alt: 'The spectrogram, high pitch on top, dark where it is loud' });
    this.buttons = data.rows.map((label, row) => {
      const button = Object.assign(document.createElement('button'), { type: 'button', textContent: label });
      button.addEventListener('click', () => this.pick(row));
      button.addEventListener('mouseenter', () => this.tell(row));
      button.addEventListener('mouseleave', () => this.tell());
      return button;
    });
    this.rows.replaceChildren(...this.buttons);
    this.hint.textContent = this.meaning();
    this.scrubber.max = data.seconds;
    const step = [0.2, 0.5, 1, 2, 5].find((one) => data.seconds / one <= 10) ?? 10;
    const ticks = Array.from({ length: Math.floor(data.seconds / step) + 1 }, (_, n) => n * step);
    this.seconds.replaceChildren(...ticks.map((second) => this.placed('span', second, `${+second.toFixed(1)} s`)));
    this.move(0);
    this.root.dataset.ready = '';
  }

  /** Return the explanation of the picture's parts. */
  meaning() {
    const { spoken } = this.data;
    const where = spoken.length ? ' Dotted lines enclose each spoken digit.' : '';
    const missed = this.missed().length ? ' The model listened to no moment of a dashed one.' : '';
    return `Each row is one step of the output. The model listened where the row is bright. Below is the sound.${where}${missed} Hover over a row, click to keep it.`;
  }

  /** The times of speech to which no row attended most. */
  missed() {
    const { edges, spoken, weights } = this.data;
    const heard = weights.map((_, row) => this.heaviest(row)).map((item) => (edges[item] + edges[item + 1]) / 2);
    return spoken.filter(([start, end]) => !heard.some((second) => start <= second && second <= end));
  }

  placed(kind, second, text = '') {
    const made = Object.assign(document.createElement(kind), { textContent: text });
    made.style.left = `${(100 * second) / this.data.seconds}%`;
    return made;
  }

  /** The row that is shown while no row is hovered. */
  get shown() { return this.chosen >= 0 ? this.chosen : this.data.lit; }

  /** Set the chosen row, or -1 for none, and frame the row that is shown. */
  choose(chosen) {
    this.chosen = chosen;
    const row = this.shown;
    this.buttons.forEach((button, n) => {
      button.setAttribute('aria-pressed', String(n === chosen));
      button.toggleAttribute('data-lit', n === row);
    });
    const lines = [...new Set(this.data.spoken.flat())].map((second) => this.placed('div', second));
    for (const [start, end] of this.missed()) {
      const missed = this.placed('div', start);
      missed.className = 'missed';
      missed.style.width = `${(100 * (end - start)) / this.data.seconds}%`;
      lines.push(missed);
    }
    const frame = Object.assign(document.createElement('div'), { className: 'row' });
    frame.style.top = `${ROW * row}px`;
    lines.push(frame);
    this.marks.replaceChildren(...lines);
    this.tell();
  }

  pick(row) {
    this.choose(row === this.chosen ? -1 : row);
    this.report({ id: this.data.id, items: this.chosen < 0 ? [] : [this.chosen] });
    if (this.chosen >= 0) this.move(this.data.edges[this.heaviest(row)]);
  }

  heaviest(row) {
    const weights = this.data.weights[row];
    return weights.indexOf(Math.max(...weights));
  }

  /** Say to which moment a row attended most. */
  tell(row = this.shown) {
    const { rows, edges, weights } = this.data;
    const item = this.heaviest(row);
    const [start, end] = [edges[item], edges[item + 1]].map((second) => second.toFixed(2));
    this.say.textContent = `To write “${rows[row]}”, the model listened most to ${start} to ${end} s (${this.percent(weights[row][item])} of its attention).`;
  }

  percent(thousandths) { return `${(thousandths / 10).toFixed(1)} %`; }

  at(event) {
    const box = this.time.getBoundingClientRect();
    const second = (Math.min(Math.max(event.clientX - box.left, 0), box.width - 1) / box.width) * this.data.seconds;
    return { second, row: Math.floor((event.clientY - box.top) / ROW) };
  }

  clicked(event) { this.move(this.at(event).second); }

  pointed(event) {
    const { second, row } = this.at(event);
    if (row >= this.data.rows.length) return;
    const item = this.item(second);
    const share = this.percent(this.data.weights[row][item]);
    this.say.textContent = `To write “${this.data.rows[row]}”, the model listened to ${second.toFixed(2)} s with ${share} of its attention.`;
  }

  item(second) {
    const behind = this.data.edges.findIndex((edge) => edge > second);
    return behind < 0 ? this.data.edges.length - 2 : Math.max(0, behind - 1);
  }

  move(second) {
    this.audio.currentTime = second;
    this.show(second);
  }

  /** Show the line, the time and the item that attended most to this moment. */
  show(second = this.audio.currentTime) {
    const { seconds, weights } = this.data;
    this.cursor.style.left = `${(100 * Math.min(second, seconds)) / seconds}%`;
    this.scrubber.value = second;
    this.place.textContent = `${second.toFixed(2)} of ${seconds.toFixed(2)} s`;
    const shares = weights.map((row) => row[this.item(second)]);
    const most = Math.max(...shares);
    // A row with less than a tenth of its attention here is not highlighted.
    this.buttons.forEach((button, n) => button.toggleAttribute('data-heard', most >= 100 && shares[n] === most));
    if (!this.audio.paused) requestAnimationFrame(() => this.show());
  }

  mark() {
    this.play.textContent = this.audio.paused ? 'Play' : 'Pause';
    this.show();
  }
}

function mount({ data, parentElement, setStateValue }) {
  const root = parentElement.querySelector('.hearing');
  if (!root || !data) return undefined;
  root.model ??= new Hearing(root);
  root.model.update(readMessage(data).header, (chosen) => setStateValue('selection', chosen));
  return () => { root.model?.audio.pause(); };
}
