// The displays ("readings") of a map: top areas, coverage or smallest area, absolute or relative to
// the head's average. Python computes them (areaviz/trace/reading.py). This file reads the sent
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
