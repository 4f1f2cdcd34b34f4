// What is said of what is pointed at, in one sentence. All text enters the page through textContent.

const COUNTS = ['no', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten', 'eleven', 'twelve'];

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
    if (!top) return `${what} ${side === 'query' ? 'attends to nothing here' : 'receives almost no attention'}.`;
    if (scene.isRaised) return `${what} attends ${times(top.weight)} as much as on average to ${this.named(top, other)} (${this.head(top, '')}).`;
    if (scene.isDensest) return this.smallestPhrase(scene);
    const groups = this.groups(scene);
    return side === 'query' ? this.attendsPhrase(scene, groups) : this.receivesPhrase(scene, groups);
  }

  /** The heads that took one span, as {text, tops}; the span with the largest sum of weights comes first. */
  groups({ spans, other }) {
    const tops = [...groupedBy(spans, ({ head }) => head).values()].map((some) => some[0]);
    const sum = ({ tops: some }) => some.reduce((total, { weight }) => total + weight, 0);
    return Array.from(groupedBy(tops, (one) => this.named(one, other)), ([text, some]) => ({ text, tops: some })).sort((a, b) => sum(b) - sum(a));
  }

  /** "To write “Hund”, three heads attend most to “A dog”, taken as one; head 3 attends most to “A”." */
  attendsPhrase(scene, [first, ...rest]) {
    const { what, spans } = scene;
    const heads = new Set(spans.map(({ head }) => head)).size;
    const [top] = first.tops;
    const opener = this.header.written ? `To write ${what}` : `For ${what}`;
    const only = heads === 1 ? ` (${share(top)})` : '';
    const one = scene.isCovered ? ' by coverage' : this.isTakenAsOne(top, scene) ? ', taken as one' : '';
    const most = `${this.who(first.tops, heads)} ${verb(first.tops)} most to ${first.text}${one}${only}${this.averaged(scene)}`;
    return `${opener}, ${most}${this.resting(top, scene)}${this.others(rest, heads)}${this.counted(scene)}.`;
  }

  /** What the heads took that the sentence does not begin with. */
  others(rest, heads) {
    const left = rest.flatMap(({ tops }) => tops);
    if (!rest.length) return '';
    if (rest.length > 2) return `; the other ${count(left.length)} heads attend most to other places`;
    return rest.map(({ text, tops }) => `; ${this.who(tops, heads)} ${verb(tops)} most to ${text}`).join('');
  }

  receivesPhrase(scene, [first, ...rest]) {
    const heads = scene.spans.length && new Set(scene.spans.map(({ head }) => head)).size;
    const receives = `${scene.what} receives most attention from`;
    if (heads === 1) return `${receives} ${first.text} (${this.head(first.tops[0])}${share(first.tops[0])})${this.averaged(scene)}.`;
    const from = ({ text, tops }) => `${text} in ${this.who(tops, heads)}`;
    const also = rest.length > 2 ? `, and from other ${this.plural} in the other heads` : rest.map((one) => `, from ${from(one)}`).join('');
    return `${receives} ${from(first)}${also}${this.averaged(scene)}.`;
  }

  /** "head 3", "two heads", "all four heads". */
  who(tops, heads) {
    if (this.header.heads === 1) return 'the model';
    if (tops.length === 1) return `head ${tops[0].head + 1}`;
    if (tops.length < heads) return `${count(tops.length)} heads`;
    return heads === 2 ? 'both heads' : `all ${count(heads)} heads`;
  }

  /** Whether a span is several words, or several characters, that the head took as one area. */
  isTakenAsOne({ start, length }, { other, unit }) {
    const isLetters = other.level === 'character' && unit === 'item' && length > 1;
    return isLetters || other.wordOf[start] !== other.wordOf[start + length - 1];
  }

  /** That only larger areas compete, and what a smaller one has. */
  counted({ alone, spans, other }) {
    if (!alone) return '';
    const top = heaviest(spans);
    const single = alone.weight > top.weight ? `; ${this.named(alone, other)} alone has ${share(alone)}` : '';
    return `, counting only ${this.areas} of 2+ ${this.plural}${single}`;
  }

  /** Of several smallest areas the one with the fewest items, and how many items it has. */
  smallestPhrase({ what, spans, other, name, mass }) {
    const size = (span) => +this.extent(span);
    const top = spans.reduce((best, one) => (size(one) < size(best) || (size(one) === size(best) && one.weight > best.weight) ? one : best));
    const several = spans.some(({ of }) => of[0] !== top.of[0]);
    const whose = several ? name(top.of) : what;
    const rest = several ? '; each has its own area' : '';
    const items = size(top) === 1 ? this.plural.replace(/s$/, '') : this.plural;
    return `At least ${mass} % of the attention of ${whose} falls on ${this.named(top, other)} (${this.head(top)}${size(top)} ${items}, ${share(top)})${rest}.`;
  }

  /** Where the top area is what its head always attends to: that, and what is most above its average. */
  resting(top, { raised, other }) {
    const head = this.readings.sinkHead(top.head, this.itemOf(top));
    if (head === undefined) return '';
    const best = raised?.();
    const found = best ? `; most above its average is ${this.named(best, other)} (${this.head(best)}${times(best.weight)} as much)` : '';
    return `, an attention sink of head ${head + 1}${found}`;
  }

  /** The item that a span of one item is, else -1. */
  itemOf({ start, length }) { return length === 1 ? start : -1; }

  /** That a weight is a mean, and over what. */
  averaged({ weighed, isWord }) { return weighed > 1 ? `, on average over ${isWord ? 'its ' : ''}${weighed} ${this.plural}` : ''; }

  /** Which head that is, where there are several. */
  head(top, after = ', ') { return this.header.heads > 1 ? `head ${top.head + 1}${after}` : after ? '' : 'the only head'; }

  /** How many items a span or area has. */
  extent({ length, area }) { return `${length ?? (area ? area.height * area.width : 1)}`; }

  /** What a span of the other text is called. */
  named(span, other) { return quoted(other.run(span.start, span.start + span.length - 1)); }
}

function verb(tops) { return tops.length === 1 ? 'attends' : 'attend'; }
