// The grid's controls, legend and tools, on top of those of the ribbon. All text enters through textContent.

function capitalised(text) { return text.replace(/^\w/, (letter) => letter.toUpperCase()); }

class GridControls extends Controls {
  load(data) {
    const splits = Boolean(data.text && data.text.words.length < data.text.count);
    super.load('token', 'cells', data.hasSeveral, data.readings, splits);
  }
}

class GridLegend extends Legend {
  areas = 'areas';

  meaning = 'Dark cells get little attention. A frame is as thick as its share. ';

  load(data, colours) {
    const what = data.text ? 'a word or the picture' : 'a cell of either picture';
    this.idle = `Hover over ${what}, click or drag to pin.`;
    super.load(data.header, colours, data.readings, 'cells');
    this.data = data;
  }

  named(mark) {
    if (mark.query !== undefined) return this.data.name('query', [mark.query]);
    return mark.read ? `read: ${areaText(mark.area)}` : areaText(mark.area);
  }

  phrase(scene) {
    const { side, spans: marks, weighed } = scene;
    const top = heaviest(marks);
    const what = capitalised(scene.what);
    const several = weighed > 1 && !(side === 'query' && this.data.text);
    if (side === 'query' && top && !top.read && !several) return capitalised(super.phrase(scene));
    if (!top) return `${what} ${side === 'query' ? 'attends to nothing here' : 'is hardly attended to'}.`;
    if (scene.isDensest) return this.smallestPhrase(scene);
    const place = top.query === undefined ? areaText(top.area) : this.named(top);
    const [is, attends, reads] = several ? ['are', 'attend', 'read'] : ['is', 'attends', 'reads'];
    const verb = side === 'memory' ? `${is} attended to most by` : top.read ? reads : `${attends} most to`;
    const mean = weighed > 1 && side === 'query' ? `, mean of ${weighed}` : '';
    const weight = scene.isRaised ? `${times(top.weight)} the average` : share(top);
    return `${what} ${verb} ${place} (${this.head(top)}${weight}${mean}).`.replaceAll(' %', '\u00a0%');
  }

  averaged({ weighed }) { return weighed > 1 ? `, on average over ${weighed} items` : ''; }

  isTakenAsOne(span) { return +this.extent(span) > 1; }

  itemOf({ area }) { return area.height * area.width === 1 ? area.top * this.data.columns + area.left : -1; }
}

/** How many areas a head, how much they may overlap, how strong, and whether cells are tinted; and the tint's scale. */
class Tools {
  constructor(root, onChange) {
    const find = (name) => root.querySelector(`.${name}`);
    Object.assign(this, { many: find('many'), overlap: find('overlap'), strength: find('strength'), warm: find('warm'), scale: find('scale') });
    for (const input of [this.many, this.overlap, this.strength]) input.oninput = () => { this.say(); onChange(); };
    this.warm.onclick = () => {
      this.warm.setAttribute('aria-pressed', !this.settings.warm);
      onChange();
    };
  }

  /** What can be set, and how it is set until the reader sets it. */
  load({ heat, lit }) {
    this.scale.firstElementChild.style.background = `linear-gradient(90deg, ${heat.join(', ')})`;
    this.many.max = lit.most;
    this.overlap.step = lit.step * 100;
    if (!this.loaded) [this.many.value, this.overlap.value] = [lit.many, lit.overlap * 100];
    this.loaded = true;
    this.say();
  }

  say() {
    this.many.nextElementSibling.textContent = this.many.value;
    for (const input of [this.overlap, this.strength]) input.nextElementSibling.textContent = `${input.value} %`;
  }

  get settings() {
    const warm = this.warm.getAttribute('aria-pressed') === 'true';
    return { many: +this.many.value, overlap: this.overlap.value / 100, strength: this.strength.value / 100, warm };
  }

  /** Where the scale of the tint ends; colours of more and less than on average explain themselves. */
  show(shares, side, isSigned) {
    const heat = isSigned ? null : shares;
    const most = heat ? Math.max(...heat) : 0;
    this.scale.classList.toggle('idle', !most || !this.settings.warm);
    this.scale.lastElementChild.textContent = most ? `0 to ${percent(most)} ${side === 'query' ? 'of the attention' : 'given to it'}` : '';
  }
}
