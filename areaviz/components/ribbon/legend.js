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
  constructor(root, onHeads, onUnit, onChoice) {
    this.reading = new ReadingControls(root, onChoice);
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
      if (button) onChoice({ areas: button.dataset.value });
    };
  }

  load(heads, level, colours, hasSeveral, readings) {
    this.reading.load(readings);
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

  show(active, heads, how) {
    const { unit, areas } = how;
    this.reading.show(how);
    this.areas.hidden = how.reading !== 'heaviest' || how.against === 'average';
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
  areas = 'spans';

  idle = 'Point at an item of either text. Click to keep it, click with Shift or Ctrl to add more, Escape to let go.';

  constructor(root) {
    this.sentence = root.querySelector('.say');
    this.live = root.querySelector('.live');
    this.list = root.querySelector('.legend');
    this.caption = root.querySelector('.caption');
    this.how = root.querySelector('.how');
    this.sinks = root.querySelector('.sinks');
  }

  load(header, colours, readings, plural) { Object.assign(this, { header, colours, readings, plural }); }

  /** How to read what lights up, and below it what every query looks at. */
  explain(how, active, name) {
    const [less, more] = this.header.signed;
    const key = (colour, text) => [swatch(0, [colour]), document.createTextNode(text)];
    const words = {
      heaviest: '',
      coverage: `Coverage is what ${this.plural} received by all areas that hold them; it sums to 100 %.`,
      densest: `The densest area of a head is the smallest that holds at least ${how.mass} % of its attention.`,
    };
    const most = Math.round(2 ** this.header.steepest);
    const signed = [...key(more, 'more than on average, up to '), document.createTextNode(`${most} times; `), ...key(less, 'less')];
    this.how.replaceChildren(...(how.against === 'average' ? signed : [document.createTextNode(words[how.reading])]));
    this.sinks.textContent = this.readings.sinkWords(active, name);
  }

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
    this.list.classList.toggle('ranked', active.length === 1);
    const all = active.length === this.header.heads;
    const numbers = active.map((head) => head + 1).join(', ');
    const which = all ? 'all heads' : `head${active.length > 1 ? 's' : ''} ${numbers} of ${this.header.heads}`;
    this.caption.textContent = this.header.caption.join(this.header.heads > 1 ? which : '');
  }

  /** Say in words what `spans` of the other text are attended to by, or attend to, what is pointed at. */
  show(scene) {
    const rank = new Map();
    this.list.classList.toggle('dense', Boolean(scene.isDensest));
    for (const row of this.rows) {
      const nth = rank.get(row.head) ?? 0;
      rank.set(row.head, nth + 1);
      const span = scene.spans.filter((candidate) => candidate.head === row.head)[nth];
      row.line.classList.toggle('empty', !span);
      row.what.textContent = span ? this.named(span, scene.other) : '';
      row.share.textContent = span ? this.amount(span, scene) : '';
      const part = scene.isRaised && span ? span.weight / this.header.steepest : span?.weight ?? 0;
      row.line.style.setProperty('--share', Math.min(part, 1) * 100);
    }
    this.say(scene.side ? this.phrase(scene) : '');
  }

  /** The number beside a line: of a densest area also how many items it takes. */
  amount(span, { isRaised, isDensest }) {
    if (isRaised) return times(span.weight).replace(' times', ' ×');
    if (!isDensest) return share(span, '≥ ');
    return `${this.extent(span)} ${this.extent(span) === '1' ? 'item' : 'items'}, ${share(span)}`;
  }

  /** How many items a span or area takes. */
  extent({ length, area }) { return `${length ?? (area ? area.height * area.width : 1)}`; }

  /** What a span of the other text is called. */
  named(span, other) { return quoted(other.run(span.start, span.start + span.length - 1)); }

  phrase(scene) {
    const { side, what, spans, other } = scene;
    const top = heaviest(spans);
    if (!top) return `${what} ${side === 'query' ? 'attends to nothing here' : 'is hardly attended to'}.`;
    if (scene.isRaised) return `${what} attends ${times(top.weight)} as much as on average to ${this.named(top, other)} (${this.head(top, '')}).`;
    if (scene.isDensest) return this.densestPhrase(scene);
    const verb = side === 'query' ? 'attends most to' : 'is attended to most by';
    const weight = `${this.head(top)}${share(top)}${this.averaged(scene)}`;
    if (!scene.alone) return `${what} ${verb} ${this.named(top, other)} (${weight})${this.resting(top, scene)}.`;
    const single = scene.alone.weight > top.weight ? `; ${this.named(scene.alone, other)} alone has ${share(scene.alone)}` : '';
    return `Of ${this.areas} of 2+ ${this.plural}, ${what} attends most to ${this.named(top, other)} (${weight}${single}).`;
  }

  /** Of several densest areas the smallest, and how many items it takes. */
  densestPhrase({ what, spans, other, name, mass }) {
    const size = (span) => +this.extent(span);
    const top = spans.reduce((best, one) => (size(one) < size(best) || (size(one) === size(best) && one.weight > best.weight) ? one : best));
    const several = spans.some(({ of }) => of[0] !== top.of[0]);
    const whose = several ? name(top.of) : what;
    const rest = several ? '; each has an area of its own' : '';
    const items = size(top) === 1 ? this.plural.replace(/s$/, '') : this.plural;
    const holds = size(top) === 1 ? 'holds' : 'hold';
    return `At least ${mass} % of what ${whose} attends to lies in ${this.named(top, other)} (${this.head(top)}${size(top)} ${items} ${holds} ${share(top)})${rest}.`;
  }

  /** Where the heaviest is what its head always looks at: that, and what stands out against the average. */
  resting(top, { raised, other }) {
    const head = this.readings.sinkHead(top.head, this.itemOf(top));
    if (head === undefined) return '';
    const best = raised?.();
    const found = best ? `; more than on average to ${this.named(best, other)} (${this.head(best)}${times(best.weight)} as much)` : '';
    return `, where head ${head + 1} looks whatever is asked${found}`;
  }

  /** The item that a span of one item is, else -1. */
  itemOf({ start, length }) { return length === 1 ? start : -1; }

  /** That a weight is a mean, and over what. */
  averaged({ weighed, isWord }) { return weighed > 1 ? ` on average over ${isWord ? 'its ' : ''}${weighed} ${this.plural}` : ''; }

  /** Which head that is, where there are several. */
  head(top, after = ', ') { return this.header.heads > 1 ? `head ${top.head + 1}${after}` : after ? '' : 'the only head'; }

  say(text) {
    this.sentence.textContent = text || this.idle;
    clearTimeout(this.waiting);
    this.waiting = setTimeout(() => { this.live.textContent = text; }, 250);
  }
}
