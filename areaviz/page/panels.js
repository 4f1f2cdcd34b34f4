// Code shared by a standalone page and a notebook's widget: the choice of site and layer of every
// component. The script defines `readMessage` and `mounts`, by the kind of component, before this
// code (areaviz/page/page.py). A host has these entries: `messageOf(site, layer)` returns the
// message of a layer, `root` contains the page, `labels` has the names of both choices, `link` is
// the name that linked views share, `why` is the reason for a missing layer (null if no layer can
// be missing), and `remember(panel)` is called after a choice. A page with a model also has
// `header()`, with entries for the header of every component, and `act(name, value)`, which is
// called when a reader edits a component.

const NOTHING = { side: 'query', items: [], head: null, unit: 'item', areas: 'any', reading: 'heaviest', mass: 50, against: 'nothing' };

function named(tag, className, text = '') {
  return Object.assign(document.createElement(tag), { className, textContent: text });
}

function bytesOf(base64) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(base64);
  const letters = atob(base64); // browsers before 2025; `Uint8Array.from` would take ten times as long
  const bytes = new Uint8Array(letters.length);
  for (let i = 0; i < letters.length; i += 1) bytes[i] = letters.charCodeAt(i);
  return bytes;
}

async function inflated(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate'));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** The message in a deflated payload, or in a promise of one. */
async function messageIn(payload) {
  return readMessage(await inflated(await payload));
}

/** A group of radio buttons. Arrow keys go from one to the next. */
class Choice {
  constructor(name, label, onChange) {
    this.name = name;
    this.box = named('fieldset', 'choice');
    this.box.append(named('legend', '', label), this.list = named('div', 'options'));
    this.box.addEventListener('change', (event) => onChange(+event.target.value));
  }

  /** Offer [text, value] pairs. A group with a single pair is hidden. */
  offer(pairs, chosen) {
    this.box.hidden = pairs.length < 2;
    this.list.replaceChildren(...pairs.map(([text, value]) => {
      const input = Object.assign(document.createElement('input'), { type: 'radio', name: this.name, value, checked: value === chosen });
      const label = named('label', 'option');
      label.append(input, named('span', '', text));
      return label;
    }));
  }
}

/** A component and the choice of its site and layer. */
class Panel {
  constructor(section, { kind, places }, opening, host) {
    Object.assign(this, { section, kind, places, host, selection: NOTHING, serial: 0 });
    this.root = section.querySelector('.stage').shadowRoot;
    section.hidden = false;
    this.sites = new Choice(`${kind}-site`, host.labels?.sites ?? 'Attention', (site) => this.turn(site));
    this.layers = new Choice(`${kind}-layer`, host.labels?.layers ?? 'Layer', (layer) => this.show(layer));
    this.missing = Object.assign(named('p', 'note'), { hidden: true, role: 'status' });
    section.querySelector('.choices').append(this.sites.box, this.layers.box, this.missing);
    const opened = places.findIndex(({ site }) => site === opening?.site);
    this.layer = opened >= 0 ? opening.layer : -1;
    if (opened >= 0) this.selection = opening.selection;
    this.opened = Math.max(opened, 0);
    this.isOpening = opened >= 0;
    this.sites.offer(places.map(({ name }, number) => [name, number]), this.opened);
  }

  /**
   * Show another site of this panel. Locked items stay locked if it has the same texts or pictures.
   */
  turn(number) {
    const before = this.place;
    this.place = this.places[number];
    const { side } = this.selection;
    if (before && before[side] !== this.place[side]) this.selection = { ...this.selection, items: [] };
    const { layers } = this.place;
    const layer = layers.includes(this.layer) ? this.layer : layers.at(-1);
    this.offer(layer);
    return this.show(layer);
  }

  /** Show a focus {site, layer, selection} on a site of this panel. */
  go({ site, layer, selection }) {
    const number = this.places.findIndex((place) => place.site === site);
    Object.assign(this, { place: this.places[number], selection });
    this.sites.offer(this.places.map(({ name }, each) => [name, each]), number);
    this.offer(layer);
    return this.show(layer);
  }

  offer(layer) {
    this.layers.offer(this.place.layers.map((each) => [`${each + 1}`, each]), layer);
  }

  /** Tell the reader how to get a missing layer, and choose the shown layer again. */
  miss(site, layer) {
    this.missing.textContent = `Layer ${layer + 1} is not in this output${this.host.why}. To see it, run: `
      + `areaviz.show(trace, areaviz.Focus(${JSON.stringify(site)}, layer=${layer}))`;
    this.missing.hidden = false;
    if (this.shown?.site !== site) return;
    this.layer = this.shown.layer;
    this.offer(this.layer);
  }

  async show(layer) {
    this.layer = layer;
    const { site } = this.place;
    let message;
    try {
      message = await this.host.messageOf(site, layer);
    } catch (error) {
      if (this.host.why === null) throw error; // a page in a file has all its layers
      if (site === this.place.site && layer === this.layer) this.miss(site, layer);
      return;
    }
    // The reader may have chosen another layer in the meantime.
    if (site !== this.place.site || layer !== this.layer) return;
    this.missing.hidden = true;
    this.shown = { site, layer };
    const { header, arrays } = message;
    const head = this.selection.head < header.heads ? this.selection.head : null;
    this.serial += 1;
    Object.assign(header, { selection: { ...this.selection, head }, serial: this.serial, link: this.host.link, height: 560, ...this.host.header?.() });
    if (this.kind === 'looks') header.source = this.host.root.getElementById('picture').src;
    if (this.kind === 'grid') arrays.picture = bytesOf(this.host.root.getElementById('picture').src.split(',')[1]);
    if (this.kind === 'hearing') header.audio = this.host.root.getElementById('sound').src;
    const { side, items } = this.selection;
    if (side === 'query' && items.length) header.items = items;
    const remember = (name, report) => {
      if (name !== 'selection') return;
      // Some components report only the items of the query.
      this.selection = { ...NOTHING, ...report };
      this.host.remember?.(this);
    };
    const act = (name, value) => this.host.act?.(name, value);
    mounts[this.kind]({ data: message, parentElement: this.root, setStateValue: remember, setTriggerValue: act });
    this.section.dataset.shown = `${site}, layer ${layer + 1}`;
    this.host.remember?.(this);
  }
}

/** The panels of a page, each with its opening content. */
async function openPanels({ panels, opening }, host) {
  const made = panels.map((panel) => new Panel(host.root.getElementById(panel.kind), panel, opening, host));
  // Mount the view with highlighted items last, because only mounted views light up with it.
  for (const panel of [...made].sort((one, other) => one.isOpening - other.isOpening)) await panel.turn(panel.opened);
  return made;
}
