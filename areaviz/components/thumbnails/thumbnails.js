// Small pictures as buttons. One of them is in the order of the Tab key; arrows move between them, Enter and Space pick.

const STEPS = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };

class Thumbnails {
  constructor(root) {
    this.root = root;
    root.addEventListener('keydown', (event) => this.move(event));
  }

  /** Take what the server sent; buttons are only made anew for other pictures, so that none loses the focus. */
  update({ label, pictures, chosen }, pick) {
    this.pick = pick;
    this.root.setAttribute('aria-label', label);
    const names = pictures.map((picture) => picture.name).join(' ');
    if (names !== this.names) this.root.replaceChildren(...pictures.map((picture) => this.button(picture)));
    this.names = names;
    this.mark(chosen);
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

  mark(chosen) {
    const buttons = [...this.root.children];
    const marked = buttons.find((button) => button.dataset.name === chosen);
    for (const button of buttons) button.setAttribute('aria-pressed', String(button === marked));
    this.enter(marked ?? buttons[0]);
  }

  /** Make one button the one that the Tab key reaches. */
  enter(here) {
    for (const button of this.root.children) button.tabIndex = button === here ? 0 : -1;
  }

  move(event) {
    const buttons = [...this.root.children];
    const at = buttons.indexOf(event.target.closest('button'));
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
