// The legend: one row per head, which is also the choice of heads, and the sentence. All text
// enters through textContent.

const MANY_HEADS = 6; // from this number on, the legend has columns

function element(tag, className, text = '') {
  const made = document.createElement(tag);
  made.className = className;
  made.textContent = text;
  return made;
}

function swatch(head, colours) {
  const made = element('span', head >= colours.length ? 'swatch again' : 'swatch');
  made.style.setProperty('--head', colours[head % colours.length]);
  return made;
}

class Legend extends Sentence {
  areas = sentence('spans');

  idle = sentence('Hover over a word, click to pin, Shift-click to add, Escape to clear.');

  meaning = sentence('Each colour is a head, one of several looks. A bar covers what it took, even punctuation. Thicker threads are more attention.');

  constructor(root) {
    super();
    const find = (name) => root.querySelector(name);
    Object.assign(this, { root, sentence: find('.say'), hint: find('.hint'), live: find('.live'), list: find('.legend') });
    Object.assign(this, { caption: find('.caption'), how: find('.how'), sinks: find('.sinks') });
  }

  load(header, colours, readings, plural) {
    Object.assign(this, { header, colours, readings, plural });
    this.rows = Array.from({ length: header.heads }, (_, head) => this.row(head));
    this.list.replaceChildren(...this.rows.map(({ line }) => line));
    this.root.classList.toggle('many', header.heads >= MANY_HEADS);
    this.mention({ hasUnsure: false, hasHidden: false, drawsFew: false, isAlone: false });
  }

  /**
   * Explain the colours and the pointing, and dotted words and heads without bars if there are any.
   */
  mention(hints) {
    this.hints = { ...this.hints, ...hints };
    const told = [
      this.header.heads > 1 && this.meaning,
      this.idle,
      this.hints.isAlone && sentence('Pale bars are areas with less attention.'),
      this.hints.hasUnsure && sentence('The model is less than half sure of dotted words.'),
      this.hints.hasHidden && sentence('A word with a line through it was hidden from the model.'),
      this.hints.drawsFew && sentence('Bars show the three heads with the heaviest areas. Click heads in the list to show others.'),
    ];
    if (this.hint) this.hint.textContent = told.filter(Boolean).join(' ');
  }

  /** The row of a head. If there are several heads, it is a button that chooses the head. */
  row(head) {
    const line = element('li', '');
    const row = element(this.header.heads > 1 ? 'button' : 'span', 'choice');
    const [what, bar, share] = [element('span', 'what'), element('span', 'bar-of'), element('span', 'share')];
    const who = element('span', 'who', this.header.heads > 1 ? sentence('Head {head}', { head: head + 1 }) : sentence('Top'));
    if (this.header.heads > 1) Object.assign(row, { type: 'button', title: sentence('Show this head alone. Click other heads to add them.') });
    row.dataset.head = head;
    line.style.setProperty('--head', this.colours[head % this.colours.length]);
    row.append(swatch(head, this.colours), who, what, bar, share);
    line.append(row);
    return { head, line, row, what, share };
  }

  /** The lines below a single head's row: its areas with less weight. */
  ranked(head) {
    return Array.from({ length: this.header.lit.listed - 1 }, (_, place) => {
      const line = element('li', 'ranked');
      const [what, bar, share] = [element('span', 'what'), element('span', 'bar-of'), element('span', 'share')];
      line.style.setProperty('--head', this.colours[head % this.colours.length]);
      line.append(element('span', ''), element('span', 'who', `${place + 2}.`), what, bar, share);
      return { head, rank: place + 1, line, what, share };
    });
  }

  /**
   * Show which heads are active. A single head always has lines for its lighter areas, to keep the
   * layout.
   */
  lines(active) {
    for (const { line } of this.lesser ?? []) line.remove();
    this.lesser = active.length === 1 ? this.ranked(active[0]) : [];
    if (active.length === 1) this.rows[active[0]].line.after(...this.lesser.map(({ line }) => line));
    const all = active.length === this.header.heads;
    const told = { heads: active.map((head) => head + 1).join(', '), count: this.header.heads };
    const some = active.length > 1 ? sentence('heads {heads} of {count}', told) : sentence('head {heads} of {count}', told);
    const which = all ? sentence('all heads') : some;
    this.caption.textContent = this.header.caption.join(this.header.heads > 1 ? which : '');
  }

  /**
   * How to read a display other than the default one, and the items to which every query attends.
   */
  explain(how, active, name) {
    const [less, more] = this.header.signed;
    const key = (colour, text) => [swatch(0, [colour]), document.createTextNode(text)];
    const words = {
      heaviest: '',
      // The coverage of a single item is its weight.
      coverage: 'several' in this.header.keep ? sentence('Coverage: attention per {item}, summed over all areas that contain it. It sums to 100 %.', { item: noun(this.plural, 1) }) : '',
      densest: sentence('For each head, the smallest area that contains at least {mass} % of its attention.', { mass: how.mass }),
    };
    const most = Math.round(2 ** this.header.steepest);
    const signed = [...key(more, `${sentence('above average (up to {times}×)', { times: most })} `), ...key(less, sentence('below average'))];
    this.how.replaceChildren(...(how.against === 'average' ? signed : [document.createTextNode(words[how.reading])]));
    this.sinks.textContent = this.readings.sinkWords(active, name);
  }

  /**
   * Say in words which `spans` of the other text attend to the hovered items, or are attended to by
   * them.
   */
  show(scene) {
    const listed = scene.listed ?? scene.spans;
    for (const row of [...this.rows, ...(this.lesser ?? [])]) {
      const span = listed.filter(({ head }) => head === row.head)[row.rank ?? 0];
      row.line.classList.toggle('empty', !span);
      row.line.classList.toggle('undrawn', Boolean(scene.drawn && !scene.drawn.includes(row.head)));
      row.what.textContent = span ? this.named(span, scene.other) : '';
      row.share.textContent = span ? this.amount(span, scene) : '';
      const part = scene.isRaised && span ? span.weight / this.header.steepest : span?.weight ?? 0;
      row.line.style.setProperty('--share', Math.min(part, 1) * 100);
    }
    this.list.classList.toggle('dense', Boolean(scene.isDensest));
    this.say(scene.side ? this.phrase(scene) : '', scene.side ? this.weights(scene) : '');
  }

  /** The number at the end of a line. For a smallest area, it includes the number of items. */
  amount(span, { isRaised, isDensest }) {
    if (isRaised) return `${times(span.weight)} ×`;
    if (!isDensest) return share(span, true);
    return `${this.extent(span)} ${noun('items', +this.extent(span))}, ${share(span)}`;
  }

  /** The heads' numbers in words, for the sentence that is read out. */
  weights(scene) {
    const tops = this.rows.filter(({ head }) => scene.spans.some((span) => span.head === head));
    if (tops.length < 2) return '';
    return tops.map(({ head, share: told }) => ` ${sentence('Head {head}: {share}.', { head: head + 1, share: told.textContent })}`).join('');
  }

  /** Show a sentence with its quotations in bold. A moment later, screen readers read it out. */
  say(text, weights) {
    const told = text || (this.hint ? '' : this.idle);
    if (this.sentence.textContent !== told) {
      this.sentence.replaceChildren(...(text ? withBoldQuotes(told) : [told]));
    }
    clearTimeout(this.waiting);
    this.waiting = setTimeout(() => { this.live.textContent = text + weights; }, 250);
  }
}

/** A sentence as nodes, with its quotations in bold. */
function withBoldQuotes(text) {
  return text.split(/(“[^”]*”|„[^“]*“)/u).map((part, place) => (place % 2 ? element('b', '', part) : part));
}

// The choices of ribbon and grid: heads in the legend, and display, unit and areas in the menu
// "More".

class Controls {
  constructor(root, onHeads, onUnit, onChoice) {
    this.legend = root.querySelector('.legend');
    this.all = root.querySelector('.all');
    this.more = root.querySelector('.more');
    this.fill(root.querySelector('.menu'));
    this.reading = new ReadingControls(root, onChoice);
    this.legend.onclick = (event) => {
      const row = event.target.closest('button');
      if (row) onHeads(+row.dataset.head, isAdding(event));
    };
    this.all.onclick = () => onHeads(null, false);
    this.units.onclick = (event) => {
      const button = event.target.closest('button');
      if (button) onUnit(button.dataset.value);
    };
    this.areas.onclick = (event) => {
      const button = event.target.closest('button');
      if (button) onChoice({ areas: button.dataset.value });
    };
    this.more.onkeydown = (event) => this.escape(event);
    root.addEventListener('pointerdown', (event) => { if (!this.more.contains(event.target)) this.more.open = false; });
  }

  /** Put the groups of choices before the menu's own entries. */
  fill(menu) {
    const readings = group(sentence('Show for each head'), 'readings');
    this.areas = group(sentence('Areas of'), 'areas');
    this.units = group(sentence('Point at'), 'units');
    const mass = element('label', 'mass');
    const slider = element('input', '');
    slider.type = 'range';
    slider.setAttribute('aria-label', sentence('Minimum share of attention'));
    mass.append(element('span', '', sentence('contains at least')), slider, element('output', ''));
    const against = element('button', 'against', sentence('Relative to average'));
    against.type = 'button';
    against.title = sentence('Attention divided by this head’s average; hides what every query attends to');
    menu.prepend(readings.parentElement, mass, against, this.areas.parentElement, this.units.parentElement);
  }

  /** Escape closes the menu first. */
  escape(event) {
    if (event.key !== 'Escape' || !this.more.open) return;
    event.stopPropagation();
    this.more.open = false;
    this.more.querySelector('summary').focus();
  }

  /**
   * Offer the choices of this map. `plural` names the items of areas, and `level` names the hovered
   * items.
   */
  load(level, plural, hasSeveral, readings, splits) {
    const single = level === 'token' ? sentence('Tokens') : sentence('Characters');
    this.reading.load(readings);
    this.offer(this.units, splits ? [[sentence('Words'), 'word'], [single, 'item']] : []);
    this.offer(this.areas, hasSeveral ? [[sentence('Any size'), 'any'], [`2+ ${noun(plural, 2)}`, 'several']] : []);
  }

  offer(options, pairs) {
    options.replaceChildren(...choices(pairs));
    options.parentElement.hidden = !pairs.length;
  }

  show(active, heads, how) {
    this.reading.show(how);
    this.areas.parentElement.hidden = !this.areas.childElementCount || how.reading !== 'heaviest' || how.against === 'average';
    this.all.hidden = active.length === heads;
    for (const row of this.legend.querySelectorAll('button')) row.setAttribute('aria-pressed', active.includes(+row.dataset.head));
    for (const button of this.units.children) button.setAttribute('aria-pressed', button.dataset.value === how.unit);
    for (const button of this.areas.children) button.setAttribute('aria-pressed', button.dataset.value === how.areas);
  }
}

/** A labelled group of buttons; returns the element of the buttons. */
function group(label, name) {
  const made = element('div', 'group');
  const options = element('div', `${name} options`);
  options.setAttribute('role', 'group');
  options.setAttribute('aria-label', label);
  const title = element('span', 'label', label);
  title.setAttribute('aria-hidden', 'true');
  made.append(title, options);
  return options;
}

/** One button for every [text, value]. */
function choices(pairs) {
  return pairs.map(([text, value]) => {
    const button = element('button', '', text);
    button.type = 'button';
    button.dataset.value = value;
    return button;
  });
}

function isAdding(event) { return event.shiftKey || event.ctrlKey || event.metaKey; }
