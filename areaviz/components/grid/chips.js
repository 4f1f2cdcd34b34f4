// The side of the grid that is a text. Each item is a chip with a dot for every head that attends
// from the item to the hovered cells.

class Chips {
  constructor(section, name) {
    Object.assign(this, { section, name });
    this.title = section.querySelector('.title');
    this.scroller = section.querySelector('.scroller');
    this.scene = { locked: [] };
  }

  load(data, colours) {
    Object.assign(this, { data, colours, items: data.text, count: data.text.count });
    this.scroller.dir = data.text.rightToLeft ? 'rtl' : 'ltr';
    this.scroller.replaceChildren(...data.text.labels.map((label, item) => this.option(label, item)));
    this.scene = { locked: [] };
  }

  option(label, item) {
    const { text, quiet } = shown(label);
    const symbol = this.items.isSymbol(item) ? 'symbol' : '';
    const joined = item > 0 && !symbol && this.items.start[item] === this.items.end[item - 1] ? 'joined' : '';
    const made = element('span', `chip ${symbol} ${quiet ? 'quiet' : ''} ${joined}`);
    made.id = this.elementId(item);
    made.setAttribute('role', 'option');
    made.setAttribute('aria-selected', 'false');
    const dots = element('span', 'dots');
    dots.setAttribute('aria-hidden', 'true');
    made.append(element('bdi', '', text), dots);
    return made;
  }

  elementId(item) { return `${this.name}-${item}`; }

  reveal() {}

  /**
   * The chip under a pointer, or the nearest chip if the pointer is between two chips or outside.
   */
  hit(event) {
    const away = (chip) => {
      const box = chip.getBoundingClientRect();
      const across = Math.max(box.left - event.clientX, event.clientX - box.right, 0);
      return across + 4 * Math.max(box.top - event.clientY, event.clientY - box.bottom, 0);
    };
    const distances = [...this.scroller.children].map(away);
    const best = distances.indexOf(Math.min(...distances));
    return distances[best] < 24 || event.buttons ? best : -1;
  }

  between(one, other) {
    const [first, last] = [Math.min(one, other), Math.max(one, other)];
    return Array.from({ length: last - first + 1 }, (_, i) => first + i);
  }

  moved(item, key) {
    if (key === 'Home') return 0;
    if (key === 'End') return this.count - 1;
    const forward = key === 'ArrowDown' || (key !== 'ArrowUp' && (key === 'ArrowRight') !== this.items.rightToLeft);
    return Math.min(Math.max(item + (forward ? 1 : -1), 0), this.count - 1);
  }

  word(item) { return this.items.word(item); }

  /** The items that represent ranges of characters. */
  at(ranges) { return [...new Set(ranges.flatMap((range) => this.items.at(range)))]; }

  show({ marks, heat, pointed, locked, focus }, _, { warm, strength, isSigned }) {
    const { signed, steepest } = this.data.header;
    const most = isSigned ? steepest : heat ? Math.max(...heat) : 0;
    const style = getComputedStyle(this.section);
    const [ground, accent] = ['--st-background-color', '--st-primary-color'].map((name) => style.getPropertyValue(name).trim());
    [...this.scroller.children].forEach((chip, item) => {
      chip.classList.toggle('pointed', pointed.includes(item));
      chip.toggleAttribute('data-lit', pointed.includes(item));
      chip.classList.toggle('ring', focus === item);
      chip.setAttribute('aria-selected', locked.includes(item));
      const level = most && heat ? Math.min(Math.abs(heat[item]) / most, 1) : 0;
      this.tint(chip, level, strength, ground, isSigned ? signed[heat?.[item] > 0 ? 1 : 0] : warm ? this.data.ramp(level) : accent);
      const heads = marks.filter((mark) => mark.query === item && mark.rank === 0);
      const dots = chip.lastChild;
      if (heads.length || dots.childElementCount) dots.replaceChildren(...heads.map(({ head }) => swatch(head, this.colours)));
    });
  }

  /** Tint a chip with the colour and opacity of the picture, and with letters readable on it. */
  tint(chip, level, strength, ground, over) {
    const colour = mixed(over, /^#[0-9a-f]{6}$/i.test(ground) ? ground : '#ffffff', strength * level);
    chip.classList.toggle('tinted', level > 0);
    chip.style.setProperty('--tint', colour);
    chip.style.setProperty('--ink', takesBlack(colour) ? '#000000' : '#ffffff');
  }
}
