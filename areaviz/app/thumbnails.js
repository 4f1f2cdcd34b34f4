// Small pictures as buttons. The Tab key reaches one of them, arrow keys move between them, and
// Enter and Space choose. If there are many, only the first few and the chosen one are shown, until
// the user asks for all pictures.

const SHOWN = 5;
const STEPS = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };

class Thumbnails {
  constructor(root) {
    this.root = root;
    root.addEventListener('keydown', (event) => this.move(event));
  }

  /**
   * Apply a message of the server. Buttons are only replaced if the pictures change, so that no
   * button loses the focus.
   */
  update({ label, pictures, chosen }, pick) {
    this.pick = pick;
    this.root.setAttribute('aria-label', label);
    const names = pictures.map((picture) => picture.name).join(' ');
    if (names !== this.names) {
      this.buttons = pictures.map((picture) => this.button(picture));
      this.root.replaceChildren(...this.buttons);
      if (pictures.length > SHOWN + 2) this.root.append(this.unfolder());
    }
    this.names = names;
    this.mark(chosen);
    this.fold();
  }

  button({ name, title, source }) {
    const image = Object.assign(document.createElement('img'), { src: source, alt: title });
    const button = Object.assign(document.createElement('button'), { type: 'button', title });
    button.dataset.name = name;
    button.append(image);
    button.addEventListener('click', () => {
      this.mark(name);
      this.pick(name);
    });
    return button;
  }

  /** The button that shows all pictures. */
  unfolder() {
    const button = Object.assign(document.createElement('button'), { type: 'button', className: 'all' });
    button.textContent = `All ${this.buttons.length}`;
    button.setAttribute('aria-label', `Show all ${this.buttons.length} pictures`);
    button.addEventListener('click', () => {
      button.remove();
      this.fold();
      this.buttons[SHOWN].focus();
    });
    return button;
  }

  /** Hide the pictures after the first few while the button that shows them is there. */
  fold() {
    const isFolded = Boolean(this.root.querySelector('.all'));
    for (const [at, button] of this.buttons.entries()) {
      button.hidden = isFolded && at >= SHOWN && button.getAttribute('aria-pressed') !== 'true';
    }
  }

  mark(chosen) {
    const marked = this.buttons.find((button) => button.dataset.name === chosen);
    for (const button of this.buttons) button.setAttribute('aria-pressed', String(button === marked));
    this.enter(marked ?? this.buttons[0]);
  }

  /** Make one button reachable by the Tab key. */
  enter(here) {
    for (const button of this.buttons) button.tabIndex = button === here ? 0 : -1;
  }

  move(event) {
    const buttons = this.buttons.filter((button) => !button.hidden);
    const at = buttons.indexOf(event.target.closest('button'));
    if (at < 0) return;
    const ends = { Home: 0, End: buttons.length - 1 };
    const to = buttons[ends[event.key] ?? at + (STEPS[event.key] ?? NaN)];
    if (event.key in ends || event.key in STEPS) event.preventDefault();
    if (!to) return;
    this.enter(to);
    to.focus();
  }
}

function mount({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector('.thumbnails');
  if (!root || !data) return;
  root.model ??= new Thumbnails(root);
  root.model.update(data, (name) => setTriggerValue('picked', name));
}
