// The sequence of questions. The address says which question is shown, and whether its answer and
// its explanation are shown. All questions are loaded at once, so the next one needs no server. A
// guess is kept until the reader leaves the page.

class LessonPath {
  constructor(root) {
    [this.blank, this.index] = root.querySelectorAll('.lesson');
    root.replaceChildren();
    this.root = root;
    this.pathname = location.pathname;
    this.listeners = new AbortController();
    addEventListener('popstate', () => this.follow(), this.listeners);
    root.addEventListener('click', (event) => this.press(event));
  }

  /**
   * @param {object} data `questions` by their numbers, `index` with all titles, and `place`, the
   *   number of the question if the address has none
   */
  update(data) {
    const mark = JSON.stringify(data);
    if (mark === this.known) return;
    Object.assign(this, { known: mark, data, frames: new Map() });
    const old = data.index?.old[location.hash.slice(1)];
    // Old addresses have the name of a lesson after "#", which browsers do not send to the server.
    if (old) this.goTo(this.address(old), false);
    else this.follow();
    performance.mark('areaviz:lesson');
  }

  /** Return the address of a question, in the language of the present address. */
  address(to) {
    const address = new URL(to, location.href);
    const language = new URL(location.href).searchParams.get('lang');
    if (language && to) address.searchParams.set('lang', language);
    return address.href;
  }

  /** Show the question that the address names. */
  follow() {
    if (location.pathname !== this.pathname) return;
    const { searchParams } = new URL(location.href);
    const place = this.placeOf(searchParams);
    if (place === null) {
      drawLessonIndex(this.index, this.data.index, (to) => this.address(to));
      this.show(this.index);
      return;
    }
    if (!this.frames.has(place)) this.frames.set(place, new LessonFrame(this.blank.cloneNode(true), this.data.questions[place], this));
    const frame = this.frames.get(place);
    this.show(frame.root);
    frame.open(searchParams.get('shown') === '1', searchParams.get('deep') === '1');
  }

  /**
   * The number of an address's question, null for the list, or undefined if the question is not
   * here.
   */
  placeOf(searchParams) {
    const place = searchParams.get('q') ?? this.data.place ?? null;
    if (place === null || !/^\d+$/.test(place)) return this.data.index ? null : undefined;
    return place in this.data.questions ? String(place) : undefined;
  }

  destroy() {
    this.listeners.abort();
    this.root.replaceChildren(this.blank, this.index);
  }

  show(section) {
    if (this.root.firstChild !== section) this.root.replaceChildren(section);
  }

  /**
   * Follow a link to another question without the server, unless the reader opens it in a new tab.
   */
  press(event) {
    const link = event.target.closest?.('a');
    if (!link || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    const { pathname, searchParams } = new URL(link.href);
    if (pathname !== location.pathname || this.placeOf(searchParams) === undefined) return;
    event.preventDefault();
    this.goTo(link.href, true);
    scrollTo(0, 0);
    this.root.querySelector('.question')?.focus({ preventScroll: true });
  }

  /**
   * Change the address and show its question. Streamlit is told by the event of the Back button.
   */
  goTo(address, isNew) {
    if (address === location.href) return;
    if (isNew) history.pushState({}, '', address);
    else history.replaceState(history.state, '', address);
    dispatchEvent(new PopStateEvent('popstate', { state: history.state }));
  }

  /** Write into the address which parts of the question are shown. */
  mark(shown, deep) {
    const address = new URL(location.href);
    for (const [name, isSet] of Object.entries({ shown, deep })) {
      if (isSet) address.searchParams.set(name, '1');
      else address.searchParams.delete(name);
    }
    this.goTo(address.href, false);
  }
}

function mount({ data, parentElement }) {
  const root = parentElement.querySelector('.lessons');
  if (!root || !data) return undefined;
  root.model ??= new LessonPath(root);
  root.model.update(data);
  return () => { root.model?.destroy(); root.model = undefined; };
}
