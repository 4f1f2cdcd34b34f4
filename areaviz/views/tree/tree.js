// A tree that grows over its words, bracket by bracket, with the span that every head took at each
// step. It moves only after "Grow it" is pressed. `report` gets the chosen step.

const PHRASES = {
  S: 'sentence', NP: 'noun phrase', VP: 'verb phrase', PP: 'prep. phrase', SBAR: 'clause', ADJP: 'adjective phrase', ADVP: 'adverb phrase',
  SQ: 'question', SBARQ: 'question', SINV: 'inverted sentence', WHNP: 'question phrase', WHADVP: 'question phrase', WHPP: 'question phrase',
  WHADJP: 'question phrase', QP: 'quantity', PRT: 'particle', INTJ: 'interjection', CONJP: 'conjunction', FRAG: 'fragment', UCP: 'mixed phrase',
  PRN: 'parenthesis', NML: 'noun group', ROOT: 'text', TOP: 'text', X: 'unknown phrase', LST: 'list mark', RRC: 'relative clause', NAC: 'name',
};
const COLOURS = ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#e69f00', '#56b4e9'];
const LEVEL = 44; // px between two levels
const NARROW = 44; // px, the least width of a word's column
const LETTER = 9; // px of a word's letter
const APART = 6; // px, the least gap between two phrases of one level
const PAUSE = 500; // ms between two steps

class Growing {
  constructor(root) {
    for (const name of ['say', 'play', 'scrubber', 'place', 'scroller']) this[name] = root.querySelector(`.${name}`);
    Object.assign(this, { root, svg: root.querySelector('svg') });
    this.play.addEventListener('click', () => (this.timer ? this.pause() : this.start()));
    this.scrubber.addEventListener('input', () => { this.pause(); this.show(+this.scrubber.value); });
    this.scrubber.addEventListener('change', () => this.report({ id: this.header.id, items: [this.step] }));
    new ResizeObserver(() => { if (this.header) { this.draw(); this.follow(); } }).observe(this.scroller);
  }

  update({ header }, report) {
    this.report = report;
    if (header.id !== this.header?.id) this.pause();
    this.header = header;
    this.scrubber.max = header.tokens.length - 1;
    this.show(header.items[0]);
    this.root.dataset.ready = '';
  }

  show(step) {
    this.step = step;
    this.scrubber.value = step;
    this.place.textContent = `step ${step + 1} of ${this.header.tokens.length}`;
    this.draw();
    this.follow();
    this.tell();
  }

  /**
   * Scroll to the highlighted node, or to the first attended word, if the tree is wider than its
   * place.
   */
  follow() {
    const lit = this.svg.querySelector('[data-lit]') ?? this.svg.querySelector('.taken');
    if (!lit) return;
    const { x, width } = lit.getBBox();
    this.scroller.scrollLeft = x + width / 2 - this.scroller.clientWidth / 2;
  }

  draw() {
    const { words, nodes } = this.header;
    const count = Math.max(words.length, ...nodes.map(([, , behind]) => behind));
    this.edges = this.columns(count);
    this.phrases = this.placed();
    const deepest = Math.max(0, ...nodes.map(([, , , depth]) => depth));
    this.floor = 26 + LEVEL * (deepest + 1) + 30;
    this.svg.setAttribute('width', this.edges.at(-1));
    this.svg.setAttribute('height', this.floor + 24 + 12 * this.header.heads.length);
    const boxes = nodes.map((node) => this.box(node));
    this.svg.replaceChildren(...this.branches(count), ...boxes, ...this.wordBoxes(), ...this.bars());
  }

  /**
   * The left edge of every word's column and of the end's column, and the right edge of all.
   * Columns fit their words.
   */
  columns(count) {
    const { words } = this.header;
    const needed = Array.from({ length: count + 1 }, (_, n) => Math.max(NARROW, LETTER * (words[n]?.length ?? 0) + 20));
    const total = needed.reduce((sum, width) => sum + width, 0);
    const scale = Math.max(1, (this.scroller.clientWidth - 8) / total);
    const edges = [0];
    for (const width of needed) edges.push(edges.at(-1) + width * scale);
    return edges;
  }

  middle(word) { return (this.edges[word] + this.edges[word + 1]) / 2; }

  /**
   * Name, centre and width of every phrase. If two phrases of a level would touch, both get their
   * short tags.
   */
  placed() {
    const { nodes } = this.header;
    const place = (node, name) => {
      const wide = name.length * 8.2 + 18;
      const middle = (this.edges[node[1]] + this.edges[Math.max(node[2], node[1] + 1)]) / 2;
      return { name, wide, x: Math.min(Math.max(middle, wide / 2 + 1), this.edges.at(-1) - wide / 2 - 1) };
    };
    const full = new Map(nodes.map((node) => [node, place(node, PHRASES[node[0]] ?? node[0])]));
    const isTight = (node) => nodes.some((other) => {
      const gap = Math.abs(full.get(node).x - full.get(other).x) - (full.get(node).wide + full.get(other).wide) / 2;
      return other !== node && other[3] === node[3] && gap < APART;
    });
    return new Map(nodes.map((node) => [node, isTight(node) ? place(node, node[0]) : full.get(node)]));
  }

  /** The middle of a node, over its words. */
  at(node) { return [this.phrases.get(node).x, 20 + LEVEL * node[3]]; }

  box(node) {
    const [label, , , , opening] = node;
    const [x, y] = this.at(node);
    const { name, wide } = this.phrases.get(node);
    const group = drawn(this.svg, 'g', { class: opening > this.step ? 'later' : 'node' });
    if (opening === this.step) group.setAttribute('data-lit', '');
    group.append(drawn(this.svg, 'rect', { x: x - wide / 2, y: y - 14, width: wide, height: 28, rx: 8 }), drawn(this.svg, 'text', { x, y: y + 5 }, name));
    if (name !== (PHRASES[label] ?? label)) group.append(drawn(this.svg, 'title', {}, PHRASES[label] ?? label));
    return group;
  }

  branches(count) {
    const { nodes, tokens } = this.header;
    const holder = (first, behind, depth) => nodes.filter((one) => one[3] < depth && one[1] <= first && one[2] >= behind).at(-1);
    const link = (above, [x, y], isLater) => {
      const [left, top] = this.at(above);
      // A branch turns above the next level, so that it does not cross the phrases below.
      const d = `M${left} ${top + 14}C${left} ${top + 36} ${x} ${Math.min(y - 34, top + 36)} ${x} ${y}`;
      return drawn(this.svg, 'path', { d, class: isLater ? 'later' : 'branch' });
    };
    const places = tokens.flatMap((token, n) => (token === 'XX' ? [n] : []));
    const words = Array.from({ length: count }, (_, word) => {
      const above = nodes.filter(([, first, behind]) => first <= word && behind > word).sort((one, other) => other[3] - one[3])[0];
      return above && link(above, [this.middle(word), this.floor - 20], places[word] > this.step);
    });
    const inner = nodes.map((node) => {
      const above = holder(node[1], node[2], node[3]);
      const [x, y] = this.at(node);
      return above && link(above, [x, y - 14], node[4] > this.step);
    });
    return [...words, ...inner].filter(Boolean);
  }

  wordBoxes() {
    const taken = this.header.tops[this.step];
    return this.header.words.map((word, n) => {
      const group = drawn(this.svg, 'g', { class: taken.some(([first, end]) => first <= n && n < end) ? 'word taken' : 'word' });
      const width = this.edges[n + 1] - this.edges[n] - 8;
      group.append(drawn(this.svg, 'rect', { x: this.edges[n] + 4, y: this.floor - 20, width, height: 36, rx: 7 }));
      group.append(drawn(this.svg, 'text', { x: this.middle(n), y: this.floor + 4 }, word));
      return group;
    });
  }

  /**
   * One bar per head under the words of its span. The end symbol is the column after the last word.
   */
  bars() {
    const { tops, heads, words } = this.header;
    return tops[this.step].map(([first, end, weight], n) => {
      const [from, to] = end > first ? [first, end] : [words.length, words.length + 1];
      const place = { x: this.edges[from] + 4, y: this.floor + 20 + 12 * n, width: this.edges[to] - this.edges[from] - 8, height: 2 + 6 * weight };
      const bar = drawn(this.svg, 'rect', { class: 'bar', rx: 3, ...place });
      bar.style.fill = COLOURS[heads[n] % COLOURS.length];
      bar.append(drawn(this.svg, 'title', {}, `head ${heads[n] + 1}: ${Math.round(100 * weight)} %`));
      return bar;
    });
  }

  tell() {
    const { tokens, tops, heads, words } = this.header;
    const best = tops[this.step].reduce((most, top, n, all) => (this.score(top) > this.score(all[most]) ? n : most), 0);
    const [first, end, weight] = tops[this.step][best];
    const span = end > first ? `“${words.slice(first, end).join(' ')}”` : 'the end of the sentence';
    const area = end - first > 1 ? ' as one area' : '';
    this.say.replaceChildren('For ', bold(this.named(tokens[this.step])), `, step ${this.step + 1} of ${tokens.length}, head ${heads[best] + 1} takes `,
      bold(span), `${area}, ${Math.round(100 * weight)} %.`);
  }

  /**
   * The rank of a span. Spans of several words rank above single words, and these above the end.
   */
  score([first, end, weight]) { return weight + Math.min(end - first, 2); }

  named(token) {
    if (token === 'XX') return 'a word';
    if (!token) return 'the end';
    const name = PHRASES[token.slice(1)] ?? token.slice(1);
    return token[0] === '(' ? name : `the end of the ${name}`;
  }

  start() {
    const last = this.header.tokens.length - 1;
    if (this.step === last) this.show(0);
    this.play.textContent = 'Pause';
    this.timer = setInterval(() => {
      this.show(this.step + 1);
      if (this.step < last) return;
      this.pause();
      this.report({ id: this.header.id, items: [last] });
    }, PAUSE);
  }

  pause() {
    clearInterval(this.timer);
    this.timer = 0;
    this.play.textContent = 'Grow it';
  }
}

function mount({ data, parentElement, setStateValue }) {
  const root = parentElement.querySelector('.tree');
  if (!root || !data) return undefined;
  root.model ??= new Growing(root);
  root.model.update(readMessage(data), (chosen) => setStateValue('selection', chosen));
  return () => root.model.pause();
}
