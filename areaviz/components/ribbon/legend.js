// The head chips, the unit switch, the sentence and the legend. All text enters through textContent.

function element(tag, className, text = '') {
  const made = document.createElement(tag);
  made.className = className;
  made.textContent = text;
  return made;
}

function percent(weight) {
  const value = weight * 100;
  if (value >= 10) return `${value.toFixed(0)} %`;
  return value >= 0.1 ? `${value.toFixed(1)} %` : '< 0.1 %';
}

/** A share as it is said: "at least" where what was not sent may change what is read. */
function share({ weight, more = 0 }, atLeast = 'at least ') {
  if (percent(weight) === percent(weight + more)) return percent(weight);
  return atLeast + (weight < 0.001 ? '0 %' : percent(weight));
}

/** Text in quotes; breaks, and blanks at its ends, are made visible. */
function quoted(text) {
  const sign = (blanks) => blanks.replaceAll(' ', SYMBOLS[' ']);
  return `“${text.replaceAll(/[\n\r\t]/g, (blank) => SYMBOLS[blank]).replace(/^ +/, sign).replace(/ +$/, sign)}”`;
}

class Controls {
  constructor(root, onHeads, onUnit, onAreas) {
    this.heads = root.querySelector('.heads');
    this.units = root.querySelector('.units');
    this.areas = root.querySelector('.areas');
    this.heads.onclick = (event) => {
      const chip = event.target.closest('button');
      if (chip) onHeads(chip.dataset.head === 'all' ? null : +chip.dataset.head, isAdding(event));
    };
    this.units.onclick = (event) => {
      const button = event.target.closest('button');
      if (button) onUnit(button.dataset.value);
    };
    this.areas.onclick = (event) => {
      const button = event.target.closest('button');
      if (button) onAreas(button.dataset.value);
    };
  }

  load(heads, level, colours, hasSeveral) {
    const all = this.chip('All heads', 'all');
    const single = Array.from({ length: heads }, (_, head) => {
      const chip = this.chip(`${head + 1}`, head);
      chip.setAttribute('aria-label', `Head ${head + 1}`);
      chip.title = `Head ${head + 1}; hold Ctrl or Shift to choose several`;
      chip.prepend(swatch(head, colours));
      return chip;
    });
    this.heads.replaceChildren(...(heads > 1 ? [all, ...single] : []));
    const names = level === 'token' ? 'Tokens' : 'Characters';
    this.units.replaceChildren(...choices([[names, 'item'], ['Words', 'word']]));
    const plural = level === 'token' ? 'tokens' : 'characters';
    this.areas.replaceChildren(...(hasSeveral ? choices([['Any area', 'any'], [`2+ ${plural}`, 'several']]) : []));
  }

  chip(text, head) {
    const chip = element('button', 'head', text);
    chip.type = 'button';
    chip.dataset.head = head;
    return chip;
  }

  show(active, heads, unit, areas) {
    const everyone = active.length === heads;
    for (const chip of this.heads.children) {
      const on = chip.dataset.head === 'all' ? everyone : !everyone && active.includes(+chip.dataset.head);
      chip.setAttribute('aria-pressed', on);
      chip.classList.toggle('lit', everyone || on);
    }
    for (const button of this.units.children) button.setAttribute('aria-pressed', button.dataset.value === unit);
    for (const button of this.areas.children) button.setAttribute('aria-pressed', button.dataset.value === areas);
  }
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

function swatch(head, colours) {
  const made = element('span', head >= colours.length ? 'swatch again' : 'swatch');
  made.style.setProperty('--head', colours[head % colours.length]);
  return made;
}

function isAdding(event) { return event.shiftKey || event.ctrlKey || event.metaKey; }

class Legend {
  idle = 'Point at an item of either text. Click to keep it, click with Shift or Ctrl to add more, Escape to let go.';

  constructor(root) {
    this.sentence = root.querySelector('.say');
    this.live = root.querySelector('.live');
    this.list = root.querySelector('.legend');
    this.caption = root.querySelector('.caption');
  }

  load(header, colours) { Object.assign(this, { header, colours }); }

  /** One line a head (one a span when a single head is looked at), also while nothing is pointed at, so that nothing jumps. */
  lines(active) {
    const rows = active.length > 1 ? active : Array(this.header.lit.listed).fill(active[0]);
    this.rows = rows.map((head, place) => {
      const line = element('li', '');
      const [what, bar, share] = [element('span', 'what'), element('span', 'bar-of'), element('span', 'share')];
      const who = element('span', 'who', this.header.heads > 1 ? `head ${head + 1}` : `${place + 1}.`);
      line.style.setProperty('--head', this.colours[head % this.colours.length]);
      line.append(swatch(head, this.colours), who, what, bar, share);
      return { head, line, what, share };
    });
    this.list.replaceChildren(...this.rows.map((row) => row.line));
    const all = active.length === this.header.heads;
    const numbers = active.map((head) => head + 1).join(', ');
    const which = all ? 'all heads' : `head${active.length > 1 ? 's' : ''} ${numbers} of ${this.header.heads}`;
    this.caption.textContent = this.header.caption.join(which);
  }

  /** Say in words what `spans` of the other text are attended to by, or attend to, what is pointed at. */
  show(side, what, spans, other, weighed) {
    const rank = new Map();
    for (const row of this.rows) {
      const nth = rank.get(row.head) ?? 0;
      rank.set(row.head, nth + 1);
      const span = spans.filter((candidate) => candidate.head === row.head)[nth];
      row.what.textContent = span ? this.named(span, other) : '';
      row.share.textContent = span ? share(span, '≥ ') : '';
      row.line.style.setProperty('--share', span ? Math.min(span.weight, 1) * 100 : 0);
    }
    this.say(side ? this.phrase(side, what, spans, other, weighed) : '');
  }

  /** What a span of the other text is called. */
  named(span, other) { return quoted(other.run(span.start, span.start + span.length - 1)); }

  phrase(side, what, spans, other, weighed) {
    const top = heaviest(spans);
    if (!top) return `${what} ${side === 'query' ? 'attends to nothing here' : 'is hardly attended to'}.`;
    const verb = side === 'query' ? 'attends most to' : 'is attended to most by';
    const average = weighed > 1 ? `, mean of ${weighed}` : '';
    return `${what} ${verb} ${this.named(top, other)} (${this.head(top)}${share(top)}${average}).`;
  }

  /** Which head that is, where there are several. */
  head(top) { return this.header.heads > 1 ? `head ${top.head + 1}, ` : ''; }

  say(text) {
    this.sentence.textContent = text || this.idle;
    clearTimeout(this.waiting);
    this.waiting = setTimeout(() => { this.live.textContent = text; }, 250);
  }
}
