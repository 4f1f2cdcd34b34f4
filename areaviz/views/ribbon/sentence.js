// The displays ("readings") of a map: top areas, coverage or smallest area, absolute or relative to
// the head's average. Python computes them (areaviz/trace/query.py). This file reads the sent
// values, and lets users choose a display.

const READINGS = [
  [sentence('Top areas'), 'heaviest', sentence('The areas with the largest attention weights')],
  [sentence('Coverage'), 'coverage', sentence('Attention per item, summed over all areas that contain it; normalised to 100 %')],
  [sentence('Smallest area'), 'densest', sentence('The smallest area that contains at least the chosen share of the attention')],
];

/** The sent smallest areas, averages and sinks. `text` is the attending side if it is a text. */
class Readings {
  constructor({ header, arrays }, queries, text) {
    Object.assign(this, { header, arrays, queries, text, masses: header.masses });
    this.items = arrays.average.length / header.heads;
    this.longer = new Map(); // the rows of words of several items, by first item
    for (const [word, first] of (text?.words ?? []).entries()) {
      if ((text.words[word + 1] ?? text.count) - first > 1) this.longer.set(first, queries + this.longer.size);
    }
  }

  /** Whether a display can be chosen. Long texts are sent without some displays. */
  has(reading) { return reading === 'heaviest' || (reading === 'densest' ? this.masses.length > 0 : this.hasShares); }

  get hasShares() { return 'item' in this.arrays || 'share' in this.arrays; }

  /**
   * The runs [first, last] that have a smallest area of their own: pointed items, or the words they
   * are part of.
   */
  runs(items, byWord) {
    if (!byWord || !this.text) return items.map((item) => [item, item]);
    return [...new Map(items.map((item) => this.text.word(item)).map((word) => [word[0], word])).values()];
  }

  /**
   * The smallest area of every head for each run: {head, first, last, weight, of}, the run in `of`.
   */
  densest(items, heads, { unit, mass }) {
    const { densest, densest_weight: weight } = this.arrays;
    const away = this.masses.map((one) => Math.abs(one - mass));
    const at = away.indexOf(Math.min(...away));
    const rows = this.queries + this.longer.size;
    return heads.flatMap((head) => this.runs(items, unit === 'word').flatMap((of) => {
      const row = of[0] === of[1] ? of[0] : this.longer.get(of[0]);
      const place = (head * rows + row) * this.masses.length + at;
      if (!weight[place]) return [];
      return [{ head, first: densest[2 * place], last: densest[2 * place + 1], weight: (weight[place] / 65535) ** 2, of, more: 0 }];
    }));
  }

  /** The base-2 logarithm of the ratio of an item's share to its head's average. */
  ratio(head, item, share) {
    const { even } = this.header;
    const mixed = (one) => (1 - even) * one + even / this.items;
    return Math.log2(mixed(share) / mixed((this.arrays.average[head * this.items + item] / 65535) ** 2));
  }

  /** Whether an item is the attention sink of a head: the head attends to it for every query. */
  isSink(head, item) {
    return this.header.sinks.some(([one, sink]) => one === head && sink === item);
  }

  /** Name the attention sinks of some heads; `name` gives an item's name. */
  sinkWords(heads, name) {
    const byItem = new Map();
    for (const [head, item, share] of this.header.sinks) {
      if (heads.includes(head)) byItem.set(item, [...(byItem.get(item) ?? []), `${sentence('head {head}', { head: head + 1 })}, ${percent(share)}`]);
    }
    return Array.from(byItem, ([item, who]) => (
      sentence('Attention sink: {item} ({heads} of the mean attention).', { item: name(item), heads: who.join('; ') })
    )).join(' ');
  }
}

/** The factor of a base-2 logarithm as text, such as "3.2". */
function times(doublings) {
  const ratio = 2 ** doublings;
  return decimal(ratio, ratio >= 10 ? 0 : 1);
}

/**
 * The choice of the display, the share that a smallest area contains, and whether maps are relative
 * to the average.
 */
class ReadingControls {
  constructor(root, onChoice) {
    const find = (name) => root.querySelector(name);
    Object.assign(this, { group: find('.readings'), mass: find('.mass'), against: find('.against') });
    this.slider = this.mass.querySelector('input');
    this.group.onclick = (event) => {
      const button = event.target.closest('button');
      if (button) onChoice({ reading: button.dataset.value, against: 'nothing' });
    };
    this.slider.oninput = () => { this.mass.lastElementChild.textContent = `${this.slider.value} %`; };
    this.slider.onchange = () => onChoice({ mass: +this.slider.value });
    this.against.onclick = () => onChoice({ against: this.against.getAttribute('aria-pressed') === 'true' ? 'nothing' : 'average' });
  }

  load(readings) {
    this.masses = readings.masses;
    this.group.replaceChildren(...choices(READINGS.filter(([, reading]) => readings.has(reading))));
    for (const button of this.group.children) button.title = READINGS.find(([, reading]) => reading === button.dataset.value)[2];
    Object.assign(this.slider, { min: this.masses[0] ?? 50, max: this.masses.at(-1) ?? 50, step: 10 });
    this.against.hidden = !readings.hasShares;
  }

  show({ reading, mass, against }) {
    for (const button of this.group.children) button.setAttribute('aria-pressed', button.dataset.value === reading && against === 'nothing');
    this.mass.hidden = reading !== 'densest' || against !== 'nothing' || this.masses.length < 2;
    this.slider.value = mass;
    this.mass.lastElementChild.textContent = `${mass} %`;
    this.against.setAttribute('aria-pressed', against === 'average');
  }
}

// The sentence about the hovered items. All text enters the page through textContent. The catalogue
// has whole sentences and whole clauses, because languages order words differently.

const COUNTS = [
  '0', '1', sentence('two'), sentence('three'), sentence('four'), sentence('five'), sentence('six'), sentence('seven'),
  sentence('eight'), sentence('nine'), sentence('ten'), sentence('eleven'), sentence('twelve'),
];
// The nouns for items, by their plural: singular and plural.
const NOUNS = {
  tokens: [sentence('token'), sentence('tokens')],
  characters: [sentence('character'), sentence('characters')],
  cells: [sentence('cell'), sentence('cells')],
  words: [sentence('word'), sentence('words')],
  items: [sentence('item'), sentence('items')],
};

function noun(plural, number) { return NOUNS[plural][number === 1 ? 0 : 1]; }

function percent(weight) {
  const value = weight * 100;
  if (value >= 10) return `${value.toFixed(0)} %`;
  return value >= 0.1 ? `${decimal(value, 1)} %` : `< ${decimal(0.1, 1)} %`;
}

/**
 * A share in words, with "at least" if values that were not sent may increase it. The short form
 * has "≥".
 */
function share({ weight, more = 0 }, isShort = false) {
  if (percent(weight) === percent(weight + more)) return percent(weight);
  const least = weight < 0.001 ? '0 %' : percent(weight);
  return isShort ? `≥ ${least}` : sentence('at least {share}', { share: least });
}

/** The shares of spans, heaviest first: one share, or the smallest and the largest of several. */
function sharesOf(tops) {
  const [high, low] = [percent(tops[0].weight), percent(tops.at(-1).weight)];
  if (tops.length === 1 || high === low) return share(tops[0]);
  return `${low.replace(/ %$/, '')}–${high}`;
}

/** Text in quotes. Breaks, and spaces at its ends, are made visible. */
function quoted(text) {
  const sign = (blanks) => blanks.replaceAll(' ', SYMBOLS[' ']);
  return sentence('“{text}”', { text: text.replaceAll(/[\n\r\t]/g, (blank) => SYMBOLS[blank]).replace(/^ +/, sign).replace(/ +$/, sign) });
}

/** The values of a list by their key, in the order in which keys appear. */
function groupedBy(list, key) {
  const groups = new Map();
  for (const one of list) groups.set(key(one), [...(groups.get(key(one)) ?? []), one]);
  return groups;
}

function count(number) { return COUNTS[number] ?? `${number}`; }

/** Words for a scene: {side, what, spans, other, weighed, ...}; see `PointedView.scene`. */
class Sentence {
  phrase(scene) {
    const { side, what, spans, other } = scene;
    const top = heaviest(spans);
    if (!top && side === 'query') return sentence('{what} attends to nothing here.', { what });
    if (!top) return sentence('{what} receives almost no attention.', { what });
    if (scene.isRaised) {
      const found = { what, times: times(top.weight), where: this.named(top, other), head: this.head(top, '') };
      return sentence('{what} attends {times} times as much as on average to {where} ({head}).', found);
    }
    if (scene.isDensest) return this.smallestPhrase(scene);
    const groups = this.groups(scene);
    return side === 'query' ? this.attendsPhrase(scene, groups) : this.receivesPhrase(scene, groups);
  }

  /**
   * The heads that took each span, as {text, tops}, heaviest first. The span with the largest weight
   * comes first, then the one with the larger sum of weights.
   */
  groups({ spans, other }) {
    const tops = [...groupedBy(spans, ({ head }) => head).values()].map((some) => some[0]);
    const sum = ({ tops: some }) => some.reduce((total, { weight }) => total + weight, 0);
    const groups = Array.from(groupedBy(tops, (one) => this.named(one, other)), ([text, some]) => ({ text, tops: some.sort((a, b) => b.weight - a.weight) }));
    return groups.sort((a, b) => b.tops[0].weight - a.tops[0].weight || sum(b) - sum(a));
  }

  /**
   * "To write “Hund”, three heads attend most to “A dog”, taken as one (41–80 %). Head 3 attends
   * most to “A”."
   */
  attendsPhrase(scene, [first, ...rest]) {
    const { what, spans } = scene;
    const heads = new Set(spans.map(({ head }) => head)).size;
    const [top] = first.tops;
    const more = ` (${sharesOf(first.tops)})${this.averaged(scene)}${this.resting(first.tops, scene)}${this.counted(scene)}`;
    const told = { what, who: this.who(first.tops, heads), where: this.taken(first.text, top, scene), more };
    return [this.opener(isOne(first.tops), told), ...this.others(rest, heads)].join(' ');
  }

  /**
   * The first sentence. It differs for words that the model wrote, and for one or several heads.
   */
  opener(isOfOne, told) {
    if (this.header.written) {
      return isOfOne ? sentence('To write {what}, {who} attends most to {where}{more}.', told)
        : sentence('To write {what}, {who} attend most to {where}{more}.', told);
    }
    return isOfOne ? sentence('For {what}, {who} attends most to {where}{more}.', told)
      : sentence('For {what}, {who} attend most to {where}{more}.', told);
  }

  /** The name of a span, followed by "taken as one" or "by coverage" if that applies. */
  taken(where, top, scene) {
    if (scene.isCovered) return sentence('{where} by coverage', { where });
    return this.isTakenAsOne(top, scene) ? sentence('{where}, taken as one', { where }) : where;
  }

  /** Further sentences about the areas of the other heads. */
  others(rest, heads) {
    const left = rest.flatMap(({ tops }) => tops);
    if (rest.length > 2) return [sentence('The other {count} heads attend most to other areas.', { count: count(left.length) })];
    return rest.map(({ text, tops }) => {
      const told = { who: this.who(tops, heads), where: text };
      return withCapital(isOne(tops) ? sentence('{who} attends most to {where}.', told) : sentence('{who} attend most to {where}.', told));
    });
  }

  receivesPhrase(scene, [first, ...rest]) {
    const heads = scene.spans.length && new Set(scene.spans.map(({ head }) => head)).size;
    const receives = (from, more) => sentence('{what} receives most attention from {from}{more}.', { what: scene.what, from, more });
    if (heads === 1) return receives(`${first.text} (${this.head(first.tops[0])}${share(first.tops[0])})`, this.averaged(scene));
    const from = ({ text, tops }) => sentence('{from} in {who}', { from: text, who: this.who(tops, heads) });
    const also = rest.length > 2 ? sentence(', and from other {items} in the other heads', { items: noun(this.plural, 2) })
      : rest.map((one) => sentence(', from {from}', { from: from(one) })).join('');
    return receives(from(first), `${also}${this.averaged(scene)}`);
  }

  /** "head 3", "two heads", "all four heads". */
  who(tops, heads) {
    if (this.header.heads === 1) return sentence('the model');
    if (tops.length === 1) return sentence('head {head}', { head: tops[0].head + 1 });
    if (tops.length < heads) return sentence('{count} heads', { count: count(tops.length) });
    return heads === 2 ? sentence('both heads') : sentence('all {count} heads', { count: count(heads) });
  }

  /** Whether a span is several words, or several characters, that the head took as one area. */
  isTakenAsOne({ start, length }, { other, unit }) {
    const isLetters = other.level === 'character' && unit === 'item' && length > 1;
    return isLetters || other.wordOf[start] !== other.wordOf[start + length - 1];
  }

  /**
   * A clause if only areas of several items are shown, with the share of a heavier smaller area.
   */
  counted({ alone, spans, other }) {
    if (!alone) return '';
    const top = heaviest(spans);
    const found = { where: this.named(alone, other), share: share(alone) };
    const single = alone.weight > top.weight ? sentence('; {where} alone has {share}', found) : '';
    return `${sentence(', counting only {areas} of 2+ {items}', { areas: this.areas, items: noun(this.plural, 2) })}${single}`;
  }

  /** The sentence about the smallest area that has the fewest items of all heads. */
  smallestPhrase({ what, spans, other, name, mass }) {
    const size = (span) => +this.extent(span);
    const top = spans.reduce((best, one) => (size(one) < size(best) || (size(one) === size(best) && one.weight > best.weight) ? one : best));
    const several = spans.some(({ of }) => of[0] !== top.of[0]);
    const whose = several ? name(top.of) : what;
    const rest = several ? sentence('; each has its own area') : '';
    const how = `${this.head(top)}${size(top)} ${noun(this.plural, size(top))}, ${share(top)}`;
    const told = { mass, whose, where: this.named(top, other), how, more: rest };
    return sentence('At least {mass} % of the attention of {whose} falls on {where} ({how}){more}.', told);
  }

  /**
   * A clause if the top area is an attention sink of a head that takes it, with the area that is
   * most above its average.
   */
  resting(tops, { raised, other }) {
    const sink = tops.find((top) => this.readings.isSink(top.head, this.itemOf(top)));
    if (!sink) return '';
    const best = raised?.();
    const raise = (one) => ({ where: this.named(one, other), head: this.head(one), times: times(one.weight) });
    const found = best ? sentence('; most above its average is {where} ({head}{times} times as much)', raise(best)) : '';
    return `${sentence(', an attention sink of head {head}', { head: sink.head + 1 })}${found}`;
  }

  /** The item of a span of one item, or -1 for longer spans. */
  itemOf({ start, length }) { return length === 1 ? start : -1; }

  /** A clause if a weight is a mean, with the items of the mean. */
  averaged({ weighed, isWord }) {
    const over = { count: weighed, items: noun(this.plural, weighed) };
    if (weighed < 2) return '';
    return isWord ? sentence(', on average over its {count} {items}', over) : sentence(', on average over {count} {items}', over);
  }

  /** The name of the head, if there are several heads. */
  head(top, after = ', ') {
    if (this.header.heads > 1) return `${sentence('head {head}', { head: top.head + 1 })}${after}`;
    return after ? '' : sentence('the only head');
  }

  /** The number of items of a span or area. */
  extent({ length, area }) { return `${length ?? (area ? area.height * area.width : 1)}`; }

  /** The name of a span of the other text. */
  named(span, other) { return quoted(other.run(span.start, span.start + span.length - 1)); }
}

function isOne(tops) { return tops.length === 1; }

/** A text whose first letter is a capital. */
function withCapital(text) { return text.replace(/^\p{Ll}/u, (letter) => letter.toUpperCase()); }
