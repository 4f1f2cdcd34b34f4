// A clip as a film strip, with a lane for each word below it, on one axis of frames. A bar in a
// lane is an area: the frames that were taken as one. Hovered or chosen words are in colour. If
// there are none, words that took several frames as one are in colour.

const SEVERAL = { frames: 2, weight: 500 }; // the strip opens with areas of several frames that have half of a word's attention
const COLOURS = 4; // number of colours for areas that are highlighted together
const BAR = { least: 5, more: 25 }; // height of a bar in px: without weight, and the addition for a weight of 1
const READABLE = 450; // a bar of several frames contains its percentage from this weight on, in thousandths
const LINE = 22; // height of a percentage in px
const SLOWEST = 250; // minimum milliseconds per frame, so that readers can follow the words

function height(weight) { return BAR.least + (BAR.more * weight) / 1000; }

function inPercent(thousandths) { return `${Math.round(thousandths / 10)} %`; }

function listed(parts) {
  return parts.length < 2 ? parts.join('') : `${parts.slice(0, -1).join(', ')} and ${parts.at(-1)}`;
}

class Strip {
  constructor(root) {
    for (const name of ['say', 'plane', 'play', 'acts']) this[name] = root.querySelector(`.${name}`);
    Object.assign(this, { root, kept: [], pointed: -1, current: -1, clicks: 0 });
    this.play.addEventListener('click', () => this.press());
    this.acts.addEventListener('click', () => this.markActions(this.acts.getAttribute('aria-pressed') !== 'true'));
    this.still = globalThis.matchMedia('(prefers-reduced-motion: reduce)');
    root.addEventListener('keydown', (event) => event.key === 'Escape' && this.keep([]));
  }

  /**
   * Apply a message of the server. The first one has the clip and its weights, and each has the
   * chosen words.
   */
  update(data, report) {
    this.report = report;
    if (data.id !== this.data?.id) this.load(data);
    this.kept = data.items;
    this.show();
  }

  load(data) {
    this.pause();
    Object.assign(this, { data, pointed: -1, current: -1 });
    this.root.setAttribute('aria-label', data.label);
    this.acts.hidden = !data.actions.length;
    this.images = data.frames.map((src) => Object.assign(new Image(), { src, alt: '' }));
    this.frames = data.frames.map((src, place) => {
      const frame = made('div');
      frame.append(Object.assign(new Image(), { src, alt: `Frame ${data.numbers[place]}` }), made('span', '', data.numbers[place]));
      return frame;
    });
    this.now = made('div', 'now');
    const strip = made('div', 'frames');
    strip.append(...this.frames);
    this.chips = data.words.map((word, row) => this.chip(word, row));
    this.lanes = data.areas.map((areas) => this.lane(areas));
    this.plane.replaceChildren(this.now, strip, ...this.chips.flatMap((chip, row) => [chip, this.lanes[row]]));
    this.markActions(false);
    this.root.dataset.ready = '';
  }

  chip(word, row) {
    const chip = made('button', this.data.unsure.includes(row) ? 'unsure' : '', word);
    chip.type = 'button';
    if (this.data.unsure.includes(row)) chip.title = 'The model was less than half sure of this word.';
    chip.addEventListener('click', () => this.keep(this.kept.includes(row) ? this.kept.filter((one) => one !== row) : [...this.kept, row]));
    for (const event of ['mouseenter', 'focus']) chip.addEventListener(event, () => this.point(row));
    for (const event of ['mouseleave', 'blur']) chip.addEventListener(event, () => this.point(-1));
    return chip;
  }

  /**
   * The bars of a word, the heaviest on top, and its percentage: the share of its attention that
   * this area received.
   */
  lane(areas) {
    const lane = made('div', 'lane');
    const bars = [...areas].reverse().map(([left, width, weight]) => {
      const bar = made('i', weight < areas[0][2] / 2 ? 'lesser' : '');
      bar.style.height = `${height(weight)}px`;
      return this.placed(bar, left, width);
    });
    if (areas.length) {
      const [left, width, weight] = areas[0];
      const isInside = width > 1 && weight >= READABLE;
      const text = made('b', isInside ? '' : 'beside', inPercent(weight));
      text.style.left = this.part(isInside ? left + width / 2 : left + width);
      if (isInside) text.style.bottom = `${Math.max(0, (height(weight) - LINE) / 2) + 1}px`;
      if (!isInside && left + width > this.frames.length - 1) text.style.left = this.part(left - 1);
      bars.push(text);
    }
    lane.append(...bars);
    return lane;
  }

  part(frames) { return `${(100 * frames) / this.frames.length}%`; }

  placed(element, left, width) {
    Object.assign(element.style, { left: this.part(left), width: this.part(width) });
    return element;
  }

  markActions(isOn) {
    this.acts.setAttribute('aria-pressed', String(isOn));
    for (const line of this.plane.querySelectorAll('u')) line.remove();
    if (!isOn) return;
    for (const lane of this.lanes) {
      lane.append(...this.data.actions.flat().map((place) => this.placed(made('u'), place, 0)));
    }
  }

  // Words

  point(row) {
    this.pointed = row;
    this.show();
  }

  keep(rows) {
    this.kept = rows;
    this.clicks += 1;
    this.report({ id: this.data.id, click: this.clicks, items: rows });
    this.show();
  }

  /**
   * The highlighted rows: the hovered row, else the chosen rows, else those that a reader should
   * see first.
   */
  rows() {
    const { areas } = this.data;
    if (this.current >= 0) return this.watching(this.current);
    if (this.pointed >= 0) return [this.pointed];
    if (this.kept.length) return [...this.kept].sort((a, b) => a - b);
    const all = areas.flatMap(([top], row) => (top ? [row] : []));
    const several = all.filter((row) => areas[row][0][1] >= SEVERAL.frames && areas[row][0][2] >= SEVERAL.weight);
    return several.length ? several : all.slice(0, 1);
  }

  watching(place) {
    return this.data.areas.flatMap(([top], row) => (top && top[0] <= place && place < top[0] + top[1] ? [row] : []));
  }

  /**
   * Rows with one heaviest area, in the order of the words: [{rows, area}]; they share a colour.
   */
  groups(rows) {
    const found = [];
    for (const row of rows) {
      const area = this.data.areas[row][0];
      const known = found.find((group) => String(group.area?.slice(0, 2)) === String(area?.slice(0, 2)));
      if (known) known.rows.push(row);
      else found.push({ rows: [row], area });
    }
    return found;
  }

  show() {
    const groups = this.groups(this.rows());
    const lit = new Map();
    for (const each of [...this.chips, ...this.lanes, ...this.frames]) this.colour(each, null);
    groups.forEach(({ rows, area }, number) => {
      const colour = this.data.colours[number % COLOURS];
      for (const row of rows) [this.chips[row], this.lanes[row]].forEach((each) => this.colour(each, colour));
      if (area) for (let place = area[0]; place < area[0] + area[1]; place += 1) lit.set(place, colour);
    });
    this.frames.forEach((frame, place) => {
      if (lit.has(place)) this.colour(frame, lit.get(place));
      frame.classList.toggle('off', lit.size > 0 && !lit.has(place));
      frame.classList.toggle('current', place === this.current);
    });
    this.chips.forEach((chip, row) => chip.setAttribute('aria-pressed', String(this.kept.includes(row))));
    this.now.replaceChildren(...(this.current < 0 ? [] : [this.images[this.current]]));
    this.play.textContent = this.timer ? 'Pause' : this.still.matches ? 'Next frame' : '▶ Play clip and words';
    this.tell(groups);
  }

  colour(element, colour) {
    element.toggleAttribute('data-lit', Boolean(colour));
    if (colour) element.style.setProperty('--head', colour);
    else element.style.removeProperty('--head');
  }

  // The sentence

  tell(groups) {
    const { words, numbers } = this.data;
    const quoted = (rows) => `“${rows.map((row) => words[row]).join(' ')}”`;
    if (this.current >= 0) {
      const found = groups.map(({ rows }) => quoted(rows));
      this.write(`Frame ${numbers[this.current]} ${found.length ? `is part of the heaviest area of ${listed(found)}.` : 'is in no word’s heaviest area.'}`, groups);
      return;
    }
    const parts = groups.map(({ rows, area }, number) => {
      if (!area) return `${quoted(rows)} attends to no frame`;
      const [first, last] = [numbers[area[0]], numbers[area[0] + area[1] - 1]];
      const frames = first === last ? `frame ${first}` : `frames ${first} to ${last} as one area`;
      const share = this.rows().length === 1 ? `, with ${inPercent(area[2])}` : '';
      return `${quoted(rows)} ${number ? this.data.verb.split(' ').at(-1) : this.data.verb} ${frames}${share}`;
    });
    this.write(`${listed(parts)}.`, groups);
  }

  /** Write a sentence whose quotations have the colours of their bars. */
  write(text, groups) {
    let number = 0;
    this.say.replaceChildren(...text.split(/(“[^”]*”)/u).map((part) => {
      if (!part.startsWith('“')) return document.createTextNode(part);
      const word = made('b', '', part);
      if (groups[number]?.area) word.style.setProperty('--head', this.data.colours[number % COLOURS]);
      number += 1;
      return word;
    }));
  }

  // Playing

  press() {
    if (this.timer) this.pause();
    else if (this.still.matches) this.step();
    else this.timer = setInterval(() => this.step(), Math.max(SLOWEST, this.data.milliseconds));
    this.show();
  }

  /** Show the next frame. After the last frame, the earlier words are highlighted again. */
  step() {
    this.current += 1;
    if (this.current === this.frames.length) {
      this.current = -1;
      this.pause();
    }
    this.show();
  }

  pause() {
    clearInterval(this.timer);
    this.timer = undefined;
  }
}

function mount({ data, parentElement, setStateValue }) {
  const root = parentElement.querySelector('.strip');
  if (!root || !data) return undefined;
  root.model ??= new Strip(root);
  root.model.update(readMessage(data).header, (chosen) => setStateValue('selection', chosen));
  return () => { root.model?.pause(); };
}
