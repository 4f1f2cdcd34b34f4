// The choices of ribbon and grid: heads in the legend, and display, unit and areas in the menu
// "More".

class Controls {
  constructor(root, onHeads, onUnit, onChoice) {
    this.legend = root.querySelector('.legend');
    this.all = root.querySelector('.all');
    this.more = root.querySelector('.more');
    this.fill(root.querySelector('.menu'));
    this.reading = new ReadingControls(root, onChoice);
    this.legend.onclick = (event) => {
      const row = event.target.closest('button');
      if (row) onHeads(+row.dataset.head, isAdding(event));
    };
    this.all.onclick = () => onHeads(null, false);
    this.units.onclick = (event) => {
      const button = event.target.closest('button');
      if (button) onUnit(button.dataset.value);
    };
    this.areas.onclick = (event) => {
      const button = event.target.closest('button');
      if (button) onChoice({ areas: button.dataset.value });
    };
    this.more.onkeydown = (event) => this.escape(event);
    root.addEventListener('pointerdown', (event) => { if (!this.more.contains(event.target)) this.more.open = false; });
  }

  /** Put the groups of choices before the menu's own entries. */
  fill(menu) {
    const readings = group(sentence('Show for each head'), 'readings');
    this.areas = group(sentence('Areas of'), 'areas');
    this.units = group(sentence('Point at'), 'units');
    const mass = element('label', 'mass');
    const slider = element('input', '');
    slider.type = 'range';
    slider.setAttribute('aria-label', sentence('Minimum share of attention'));
    mass.append(element('span', '', sentence('contains at least')), slider, element('output', ''));
    const against = element('button', 'against', sentence('Relative to average'));
    against.type = 'button';
    against.title = sentence('Attention divided by this head’s average; hides what every query attends to');
    menu.prepend(readings.parentElement, mass, against, this.areas.parentElement, this.units.parentElement);
  }

  /** Escape closes the menu first. */
  escape(event) {
    if (event.key !== 'Escape' || !this.more.open) return;
    event.stopPropagation();
    this.more.open = false;
    this.more.querySelector('summary').focus();
  }

  /**
   * Offer the choices of this map. `plural` names the items of areas, and `level` names the hovered
   * items.
   */
  load(level, plural, hasSeveral, readings, splits) {
    const single = level === 'token' ? sentence('Tokens') : sentence('Characters');
    this.reading.load(readings);
    this.offer(this.units, splits ? [[sentence('Words'), 'word'], [single, 'item']] : []);
    this.offer(this.areas, hasSeveral ? [[sentence('Any size'), 'any'], [`2+ ${noun(plural, 2)}`, 'several']] : []);
  }

  offer(options, pairs) {
    options.replaceChildren(...choices(pairs));
    options.parentElement.hidden = !pairs.length;
  }

  show(active, heads, how) {
    this.reading.show(how);
    this.areas.parentElement.hidden = !this.areas.childElementCount || how.reading !== 'heaviest' || how.against === 'average';
    this.all.hidden = active.length === heads;
    for (const row of this.legend.querySelectorAll('button')) row.setAttribute('aria-pressed', active.includes(+row.dataset.head));
    for (const button of this.units.children) button.setAttribute('aria-pressed', button.dataset.value === how.unit);
    for (const button of this.areas.children) button.setAttribute('aria-pressed', button.dataset.value === how.areas);
  }
}

/** A labelled group of buttons; returns the element of the buttons. */
function group(label, name) {
  const made = element('div', 'group');
  const options = element('div', `${name} options`);
  options.setAttribute('role', 'group');
  options.setAttribute('aria-label', label);
  const title = element('span', 'label', label);
  title.setAttribute('aria-hidden', 'true');
  made.append(title, options);
  return options;
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

function isAdding(event) { return event.shiftKey || event.ctrlKey || event.metaKey; }
