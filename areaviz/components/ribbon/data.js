// The data of one site and layer, and the spans that are highlighted on hover. The layout of the
// message is that of `make_ribbon_payload` in areaviz/interactive/ribbon.py.

/** The items of one text: their labels, their places in the text, and the word of each. */
class Items {
  constructor(header, start, end, words) {
    Object.assign(this, { title: header.title, raw: header.raw, start, end, words, count: start.length });
    this.characters = Array.from(header.raw);
    this.labels = Array.from(start, (_, i) => header.labels[i] ?? this.text(i, i));
    this.wordOf = new Uint32Array(this.count);
    words.forEach((first, word) => this.wordOf.fill(word, first));
    this.level = this.labels.some((label, i) => !this.isSymbol(i) && end[i] - start[i] > 1) ? 'token' : 'character';
    this.rightToLeft = mostlyRightToLeft(header.raw);
    this.hidden = header.hidden ?? []; // items that a change hides from the model
    this.unsure = header.unsure ?? []; // items that the model wrote with a probability below one half
  }

  isSymbol(item) { return this.start[item] === this.end[item]; }

  text(first, last) { return this.characters.slice(this.start[first], this.end[last]).join(''); }

  /** First and last item of the word that contains `item`. */
  word(item) {
    const word = this.wordOf[item];
    return [this.words[word], (this.words[word + 1] ?? this.count) - 1];
  }

  /** The text of the items from `first` to `last`. Symbols are replaced by their labels. */
  run(first, last) {
    const parts = [];
    for (let i = first; i <= last; i += 1) {
      let end = i;
      while (end < last && !this.isSymbol(i) && !this.isSymbol(end + 1)) end += 1;
      parts.push(this.isSymbol(i) ? this.labels[i] : this.text(i, end));
      i = end;
    }
    return parts.join(' ');
  }

  /** Neighbouring items as runs [first, last]. */
  runs(items) {
    const runs = [];
    for (const item of [...items].sort((a, b) => a - b)) {
      if (runs.length && runs.at(-1)[1] === item - 1) runs.at(-1)[1] = item;
      else runs.push([item, item]);
    }
    return runs;
  }

  /**
   * The items that represent a range of characters. An empty range finds the symbols at that place.
   */
  at([from, to]) {
    const found = [];
    for (let i = 0; i < this.count; i += 1) {
      const symbol = this.isSymbol(i);
      if (from === to ? symbol && this.start[i] === from : !symbol && this.start[i] < to && this.end[i] > from) found.push(i);
    }
    return found;
  }
}

function mostlyRightToLeft(text) {
  const count = (pattern) => (text.match(pattern) ?? []).length;
  const rightToLeft = count(/[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}]/gu);
  return rightToLeft * 2 > count(/\p{L}/gu);
}

/**
 * The attention between both texts. Spans are {head, start, length, weight, more}, heaviest first
 * in a head; see `slack`.
 */
class Attention {
  constructor(message) {
    const { header, arrays } = message;
    this.heads = header.heads;
    this.arrays = arrays;
    this.keep = header.keep;
    this.hasSeveral = 'several' in header.keep;
    const sides = header.fields.map((field, f) => new Items(field, arrays[`f${f}.start`], arrays[`f${f}.end`], arrays[`f${f}.word`]));
    this.sides = { query: sides[header.query], memory: sides[header.memory] };
    this.lit = header.lit;
    this.grid = new AreaGrid(header.grid);
    this.readings = new Readings(message, this.sides.query.count, this.sides.query);
  }

  /** The spans to highlight in the other text for `items` of `side`, in the chosen display. */
  spans(side, items, heads, how) {
    if (side === 'query' && how.against === 'average') return heads.flatMap((head) => this.raised(items, head));
    if (side === 'query' && how.reading === 'densest') {
      const found = this.readings.densest(items, heads, how);
      return found.map(({ first, last, ...span }) => ({ ...span, start: first, length: last - first + 1 }));
    }
    const attended = how.reading === 'coverage' ? 'item' : how.areas === 'several' && this.hasSeveral ? 'several' : 'area';
    return this.listed(side === 'memory' ? 'query' : attended, side, items, heads, how.unit === 'word');
  }

  /**
   * The heaviest entries of a sent list: "area", "several" or "item", or "query" for attending
   * items.
   */
  listed(list, side, items, heads, byWord) {
    const other = this.sides[side === 'query' ? 'memory' : 'query'];
    return heads.flatMap((head) => {
      const weights = new Map();
      const { count } = this.sides[side];
      for (const item of items) this.gather(list, count, head, item, byWord ? other : null, weights);
      const more = items.length > 1 || byWord ? this.slack(list, count, head, items, byWord) : 0;
      return this.heaviest(weights, items.length).map((span) => ({ ...span, head, more }));
    });
  }

  /**
   * The items that get more attention than on average. Their weight is a base-2 logarithm of the
   * ratio.
   */
  raised(items, head) {
    const values = this.against('query', items, [head]);
    const above = Array.from(values, (weight, start) => ({ head, start, length: 1, weight, more: 0 })).filter(({ weight }) => weight > 0);
    return above.sort((a, b) => b.weight - a.weight).slice(0, this.lit.many);
  }

  /**
   * The base-2 logarithms of the other side's shares relative to the heads' averages, as a mean
   * over heads and items. Values that were not sent are 0.
   */
  against(side, items, heads) {
    const { query, memory } = this.sides;
    const values = new Float32Array(side === 'query' ? memory.count : query.count);
    const whole = this.keep.item >= memory.count;
    const asked = side === 'query' ? items : Array.from(values.keys());
    for (const head of heads) for (const one of asked) {
      const shares = this.shares(head, one);
      const looked = side === 'query' ? (whole && shares.size ? values.keys() : shares.keys()) : items.filter((item) => shares.has(item) || (whole && shares.size));
      for (const item of looked) values[side === 'query' ? item : one] += this.readings.ratio(head, item, shares.get(item) ?? 0);
    }
    return values.map((value) => value / (heads.length * items.length));
  }

  /** The shares that were sent of one query, by item. */
  shares(head, query) {
    const { item, item_weight: stored } = this.arrays;
    const from = (head * this.sides.query.count + query) * this.keep.item;
    const found = new Map();
    for (let i = from; i < from + this.keep.item; i += 1) if (stored[i]) found.set(item[i], (stored[i] / 65535) ** 2);
    return found;
  }

  /** The largest weight that may be missing from a span's sent weight, as a mean over items. */
  slack(list, count, head, items, byWord) {
    const { [`${list}_weight`]: stored, [`${list}_rest`]: rest } = this.arrays;
    if (!rest) return 1;
    const keep = this.keep[list];
    const missing = (item) => {
      const [row, left] = [head * count + item, (rest[head * count + item] / 65535) ** 2];
      const lightest = (stored[(row + 1) * keep - 1] / 65535) ** 2; // the largest weight of an unsent span
      const single = list === 'query' || (!byWord && (list === 'item' || keep > this.lit.many));
      return single ? Math.min(left, lightest) : left;
    };
    return items.reduce((total, item) => total + missing(item), 0) / items.length;
  }

  gather(list, count, head, item, words, weights) {
    const areas = list !== 'query';
    const [index, stored, keep] = [this.arrays[list], this.arrays[`${list}_weight`], this.keep[list]];
    const largest = 2 ** (8 * stored.BYTES_PER_ELEMENT) - 1;
    const from = (head * count + item) * keep;
    for (let i = from; i < from + keep; i += 1) {
      if (!stored[i]) continue;
      let [first, last] = areas ? this.ends(index[i]) : [index[i], index[i]];
      let weight = (stored[i] / largest) ** 2;
      if (words) {
        [first, last] = [words.word(first)[0], words.word(last)[1]];
        if (!areas) weight /= last - first + 1;
      }
      const key = first * 65536 + last;
      weights.set(key, (weights.get(key) ?? 0) + weight);
    }
  }

  /** First and last item of an area, from its index. */
  ends(index) {
    const { left, width } = this.grid.area(index);
    return [left, left + width - 1];
  }

  /** The spans of a head to highlight, from the sums of their weights over `count` items. */
  heaviest(weights, count) {
    const weighed = Array.from(weights, ([key, weight]) => {
      const left = Math.floor(key / 65536);
      return { area: { top: 0, left, height: 1, width: (key % 65536) - left + 1 }, weight };
    });
    const found = heaviestApart(weighed, this.lit.many, this.lit.overlap);
    return found.map(({ area, weight }) => ({ start: area.left, length: area.width, weight: weight / count }));
  }
}
