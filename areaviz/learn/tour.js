// The bar of the guided tour. It shows the step and the task, frames the element to look at, and
// continues a moment after the task is done. The step is part of the address, so the next step is a
// link, and the Back button works.

const LOOK = 200; // ms between two checks of the page, whose pictures may be redrawn at any time
const HOLD = 1000; // ms for which the task must remain done before the tour continues
const AROUND = 8; // px between an element and its frame

/** Elements that match a selector, in the page or in a component on it. */
function seen(selector) {
  const hosts = [...document.querySelectorAll('*')].filter((one) => one.shadowRoot);
  return [document, ...hosts.map((one) => one.shadowRoot)].flatMap((root) => [...root.querySelectorAll(selector)]);
}

/** Open an address of the app as its own links do, without loading the app again. */
function open(address) {
  history.pushState(null, '', address);
  dispatchEvent(new PopStateEvent('popstate'));
}

/** The page that is open, without the tour. */
function withoutTour() {
  const address = new URL(location.href);
  address.searchParams.delete('tour');
  return address.href;
}

class Tour {
  constructor(root) {
    this.root = root;
    this.ring = root.querySelector('.ring');
    this.listeners = new AbortController();
    const { signal } = this.listeners;
    document.addEventListener('keydown', (event) => this.escape(event), { signal });
    addEventListener('scroll', () => this.frame(), { signal, capture: true });
    addEventListener('resize', () => this.frame(), { signal });
    this.timer = setInterval(() => this.look(), LOOK);
  }

  destroy() {
    clearInterval(this.timer);
    this.listeners.abort();
  }

  update(data) {
    const mark = JSON.stringify(data);
    if (mark === this.mark) return;
    Object.assign(this, { mark, data, hasStarted: false, hasScrolled: false, since: null, hasGone: false });
    this.root.querySelector('.dots').replaceChildren(...Array.from({ length: data.count }, (_, place) => this.dot(place)));
    this.say(`${data.says} ${data.asks && `**${data.asks.replaceAll('**', '')}**`}`.trim());
    this.root.querySelector('.ways').replaceChildren(...this.ways());
    this.look();
  }

  dot(place) {
    const dot = document.createElement('span');
    dot.className = place < this.data.number ? 'on' : '';
    return dot;
  }

  /** Show a sentence. Text between two pairs of asterisks is bold. */
  say(text) {
    const parts = text.split('**').map((part, place) => {
      if (place % 2 === 0) return document.createTextNode(part);
      return Object.assign(document.createElement('b'), { textContent: part });
    });
    this.root.querySelector('.says').replaceChildren(...parts);
  }

  ways() {
    const { act, back, next, number, count, ways } = this.data;
    const found = ways.map(([label, address], place) => this.way(label, address, place ? '' : 'main'));
    if (act) found.push(this.way(...act, 'act'));
    if (back) found.push(this.way(sentence('Back'), back));
    if (next) found.push(this.way(sentence('Next, {number} of {count}', { number, count }), next, 'main'));
    return [...found, this.way(sentence('End'), withoutTour(), 'end')];
  }

  way(label, address, kind = '') {
    const link = Object.assign(document.createElement('a'), { textContent: label, href: address, className: kind });
    link.addEventListener('click', (event) => {
      if (event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
      event.preventDefault();
      open(kind === 'end' ? withoutTour() : link.href);
    });
    return link;
  }

  /** End the tour, unless Escape closes something else first. */
  escape(event) {
    if (event.key !== 'Escape' || event.defaultPrevented) return;
    const isTyping = event.composedPath()[0].matches?.('input, textarea');
    if (!isTyping && !document.querySelector('[data-testid=stPopoverBody], [role=dialog], [role=menu]')) open(withoutTour());
  }

  look() {
    if (!this.root.isConnected) {
      this.destroy();
      return;
    }
    this.frame();
    this.follow();
  }

  /** Put the frame around the element to look at, and scroll to it once. */
  frame() {
    const there = this.data?.look ? seen(this.data.look).find((one) => one.getClientRects().length) : null;
    this.ring.hidden = !there;
    if (!there) return;
    const box = there.getBoundingClientRect();
    const foot = this.root.querySelector('.bar').getBoundingClientRect().top;
    if (!this.hasScrolled && (box.top < 0 || box.bottom > foot)) {
      there.scrollIntoView({ block: box.height < foot ? 'center' : 'start' });
      this.hasScrolled = true;
      return;
    }
    const sides = { left: box.left, top: box.top, width: box.width, height: box.height };
    sides.left -= AROUND;
    sides.top -= AROUND;
    sides.width += 2 * AROUND;
    sides.height += 2 * AROUND;
    for (const [side, value] of Object.entries(sides)) this.ring.style.setProperty(side, `${value}px`);
  }

  /**
   * Continue after the watched text, such as the sentence below a picture, has been right for a
   * moment.
   */
  follow() {
    const { watch, starts, ends, next } = this.data ?? {};
    if (!watch || !next || this.hasGone) return;
    const said = seen(watch)[0]?.textContent ?? '';
    this.hasStarted ||= said.includes(starts);
    const isDone = this.hasStarted && said && (ends ? said.includes(ends) : !starts || !said.includes(starts));
    this.since = isDone ? this.since ?? performance.now() : null;
    if (!isDone || performance.now() - this.since < HOLD) return;
    this.hasGone = true;
    open(next);
  }
}

function mount({ data, parentElement }) {
  const root = parentElement.querySelector('.tour');
  if (!root || !data) return;
  root.model ??= new Tour(root);
  root.model.update(data);
}
