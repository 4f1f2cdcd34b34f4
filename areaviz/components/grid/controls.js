// The grid's controls, legend and tools, in addition to those of the ribbon. All text enters
// through textContent.

class GridControls extends Controls {
  load(data) {
    const splits = Boolean(data.text && data.text.words.length < data.text.count);
    super.load('token', 'cells', data.hasSeveral, data.readings, splits);
  }
}

class GridLegend extends Legend {
  areas = sentence('areas');

  meaning = sentence('Dark cells get little attention. A frame is as thick as its share.');

  load(data, colours) {
    this.idle = data.text ? sentence('Hover over a word or the picture, click or drag to pin.')
      : sentence('Hover over a cell of either picture, click or drag to pin.');
    super.load(data.header, colours, data.readings, 'cells');
    this.data = data;
  }

  named(mark) {
    if (mark.query !== undefined) return this.data.name('query', [mark.query]);
    return mark.read ? sentence('read: {where}', { where: areaText(mark.area) }) : areaText(mark.area);
  }

  phrase(scene) {
    const { side, spans: marks, weighed } = scene;
    const top = heaviest(marks);
    const what = withCapital(scene.what);
    const several = weighed > 1 && !(side === 'query' && this.data.text);
    if (side === 'query' && top && !top.read && !several) return withCapital(super.phrase(scene));
    if (!top && side === 'query') return sentence('{what} attends to nothing here.', { what });
    if (!top) return sentence('{what} is hardly attended to.', { what });
    if (scene.isDensest) return this.smallestPhrase(scene);
    const where = top.query === undefined ? areaText(top.area) : this.named(top);
    const mean = weighed > 1 && side === 'query' ? sentence(', mean of {count}', { count: weighed }) : '';
    const weight = scene.isRaised ? sentence('{times} times the average', { times: times(top.weight) }) : share(top);
    const told = { what, where, how: `${this.head(top)}${weight}${mean}` };
    return this.looking(side, top, several, told).replaceAll(' %', '\u00a0%');
  }

  /**
   * The sentence about one or several items: their areas, the areas they read, or the items that
   * attend to them.
   */
  looking(side, top, several, told) {
    if (side === 'memory') {
      return several ? sentence('{what} are attended to most by {where} ({how}).', told)
        : sentence('{what} is attended to most by {where} ({how}).', told);
    }
    if (top.read) return several ? sentence('{what} read {where} ({how}).', told) : sentence('{what} reads {where} ({how}).', told);
    return several ? sentence('{what} attend most to {where} ({how}).', told) : sentence('{what} attends most to {where} ({how}).', told);
  }

  averaged({ weighed }) {
    return weighed > 1 ? sentence(', on average over {count} {items}', { count: weighed, items: noun('items', weighed) }) : '';
  }

  isTakenAsOne(span) { return +this.extent(span) > 1; }

  itemOf({ area }) { return area.height * area.width === 1 ? area.top * this.data.columns + area.left : -1; }
}

/**
 * Controls of the number, overlap and strength of areas, and of the tint of cells and its scale.
 */
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

  /** Set the controls to their default values. */
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

  /** Show the end of the scale of the tint. Colours relative to the average need no scale. */
  show(shares, side, isSigned) {
    const heat = isSigned ? null : shares;
    const most = heat ? Math.max(...heat) : 0;
    this.scale.classList.toggle('idle', !most || !this.settings.warm);
    const told = side === 'query' ? sentence('0 to {most} of the attention', { most: percent(most) })
      : sentence('0 to {most} given to it', { most: percent(most) });
    this.scale.lastElementChild.textContent = most ? told : '';
  }
}
