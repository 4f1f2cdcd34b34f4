// The word that a page highlights first, as `find_longest_word` in
// areaviz/views/views.py chooses it.

import { decodeBase64 } from '../base64.js';
import { EngineClient, Stopped } from './engine_client.js';
import { elementOf, formRequest, setBusy, showProgress, tell } from './form.js';
import {
  detailTable, newElement, probabilityTable, readingText, textColumns, fileAddress, readPicture,
} from './output_text.js';
import { WhatIf, offeredChanges, WhyPanel } from './what_if.js';
import { wordsOf } from '../words.js';

/** @typedef {import('../recording.js').Field} Field */

/**
 * Return the items of the longest word, without the punctuation around it.
 * @param {Field} field
 */
export function longestWord(field) {
  const characters = [...field.raw];
  /** @type {number[]} */
  let longest = [];
  let length = 0;
  for (const [first, end] of wordsOf(field)) {
    const texts = field.anchors.slice(first, end).map(([from, to]) => characters.slice(from, to));
    const lettered = texts.flatMap((text, i) => (text.some((one) => /[\p{L}\p{N}]/u.test(one)) ? [i] : []));
    if (!lettered.length) continue;
    const items = Array.from(
      { length: lettered[lettered.length - 1] - lettered[0] + 1 }, (_, i) => lettered[0] + i);
    const size = items.reduce((total, item) => total + texts[item].length, 0);
    if (size > length) {
      length = size;
      longest = items.map((item) => first + item);
    }
  }
  return longest;
}

// A page with a live model. The engine gets the typed text, and the panels show its results.
// `openPanels` and `messageIn` are defined in page/panels.js.


/** @typedef {import('./engine_client.js').OnProgress} OnProgress */
/** @typedef {import('./output_text.js').Shown} Shown */
/** @typedef {import('../request.js').Request} Request */
/**
 * @typedef {object} Panel
 * @property {string} kind
 * @property {{ site: string, query: string, memory: string }[]} places
 * @property {{ site: string, query: string, memory: string }} place
 * @property {{ side: 'query' | 'memory', items: number[], head: number | null }} selection
 * @property {number} layer
 * @property {(number: number) => Promise<void>} turn
 */
/**
 * @typedef {object} PanelScript
 * @property {(told: unknown, host: object) => Promise<Panel[]>} openPanels
 * @property {(payload: Uint8Array) => Promise<unknown>} messageIn
 */

/** The components in which a reader pins what to change. */
const CHANGED_BY_PINNING = ['ribbon', 'grid'];

/** Wait until the whole file has loaded, because the weights are at its end. */
async function wholeFile() {
  if (document.readyState !== 'loading') return;
  await new Promise((resolve) => { document.addEventListener('DOMContentLoaded', resolve); });
}

/** The form, the engine and the panels. */
class LivePage {
  /** @param {PanelScript} script */
  constructor(script) {
    this.script = script;
    /** @type {Panel[]} */
    this.panels = [];
    /** @type {Promise<EngineClient>} */
    this.engine = wholeFile().then(startEngine);
    this.told = JSON.parse(elementOf('panels').textContent);
    /** @type {Partial<Request>} the request that is shown */
    this.shown = this.told.request;
    /** Whether the stored first run is shown. The file contains only one layer of it. */
    this.isStored = true;
    /** @type {Worker | null} the worker that has the trace of this request */
    this.shownBy = null;
    this.serial = 0;
    /** The number of pictures that readers have chosen. */
    this.pictures = 0;
    /** A data URL of the opening's picture. */
    this.openingSource = '';
    /** @type {Record<string, { raw: string, anchors: number[][], labels: string[] }>} the texts that are shown */
    this.fields = this.told.fields;
    /** The output of the newest run without changes. */
    this.unchanged = this.told.output;
    this.whatIf = new WhatIf(elementOf('live-changes'), () => this.show(this.asked()));
    const root = /** @type {HTMLDetailsElement | null} */ (document.getElementById('live-why'));
    const fieldOf = (/** @type {string} */ field) => this.fields[field];
    /** The panel that explains weights; null if the model has no terms. */
    this.why = root && new WhyPanel(root, (question) => this.askShown('why', question), fieldOf);
  }

  async open() {
    document.getElementById('without-script')?.remove();
    const messageOf = (/** @type {string} */ site, /** @type {number} */ layer) => this.messageOf(site, layer);
    const remember = (/** @type {Panel} */ panel) => this.offer(panel);
    const host = {
      root: document,
      link: 'page',
      messageOf,
      remember,
      why: null,
      // Changes refer to facts and points by their numbers, so these cannot be edited while there
      // are changes.
      header: () => ({ ...this.told.header, canEdit: !this.shown.changes }),
      act: (/** @type {string} */ name, /** @type {any} */ value) => this.act(name, value),
    };
    this.panels = await this.script.openPanels(this.told, host);
    await this.engine;
    await this.openingPicture();
    this.listen();
    document.documentElement.dataset.live = 'ready';
  }

  listen() {
    const form = elementOf('live');
    form.hidden = false;
    const changes = elementOf('live-changes');
    changes.hidden = !this.told.canChange || !this.panels.some(({ kind }) => CHANGED_BY_PINNING.includes(kind));
    const why = this.why?.root ?? newElement('div', {});
    why.hidden = changes.hidden;
    document.querySelector('main > .panel:not([hidden])')?.after(changes, why);
    form.addEventListener('submit', (/** @type {Event} */ event) => {
      event.preventDefault();
      this.start();
    });
    for (const id of ['live-picture', 'live-file']) {
      document.getElementById(id)?.addEventListener('change', () => this.choosePicture(id));
    }
    elementOf('live-stop').addEventListener('click', async () => (await this.engine).stop());
  }

  /**
   * Run the model on a reader's edit in a component, or without one fact of a story.
   * @param {string} name the action: "edited" or "without"
   * @param {any} value the new text, or the number of a fact, -1 to put it back
   */
  act(name, value) {
    if (name === 'edited') elementOf('live-text').value = value;
    const hide = { text: `hide:facts:items=${value + 1}`, words: `Hide fact ${value + 1}` };
    this.whatIf.draw(name === 'edited' || value < 0 ? [] : [hide]);
    return this.show(this.asked());
  }

  /** Run the request of the form. */
  start() {
    // Changes refer to items of a text, so another text begins without changes.
    if (formRequest().text !== this.shown.text) this.whatIf.draw([]);
    return this.show(this.asked());
  }

  /**
   * Return the request of the form, with the changes of the list.
   * @returns {Partial<Request>}
   */
  asked() {
    const request = { ...formRequest(), picture: this.shown.picture };
    const isChanged = this.whatIf.text !== '';
    return { ...request, text: isChanged ? this.shown.text : request.text, changes: this.whatIf.text };
  }

  /**
   * Run the model on a sample or on a file of the reader.
   * @param {string} id the menu of samples, or the field for a file
   */
  async choosePicture(id) {
    const chosen = elementOf(id);
    const file = chosen.files?.[0];
    if (chosen.files && !file) return;
    try {
      const sample = chosen.selectedOptions?.[0].dataset.source || this.openingSource;
      const address = file ? await fileAddress(file) : sample;
      const { picture, source, note } = await readPicture(address, file ? 'upload' : chosen.value);
      if (!file) elementOf('live-file').value = '';
      this.whatIf.draw([]);
      await this.show({ ...formRequest(), picture }, source, note);
    } catch (error) {
      tell('', /** @type {Error} */ (error).message);
    }
  }

  /**
   * Read the picture of the opening from the page, because the file contains only the shown
   * picture.
   */
  async openingPicture() {
    const shown = /** @type {HTMLImageElement | null} */ (document.getElementById('picture'));
    const { picture: name } = this.told.request;
    if (!shown || !name) return;
    this.openingSource = shown.src;
    this.shown.picture = (await readPicture(shown.src, name)).picture;
  }

  /**
   * Offer the changes for the pinned items of a panel.
   * @param {Panel} panel
   */
  offer(panel) {
    const wordsOf = (/** @type {string} */ field, /** @type {number[]} */ items) => {
      const { raw, anchors, labels } = this.fields[field];
      if (!raw) return items.map((item) => labels[item]).join('; ');
      const characters = [...raw];
      const texts = items.map((item) => characters.slice(anchors[item][0], anchors[item][1]).join(''));
      return texts.join(' ').trim() || '⟨end⟩';
    };
    this.whatIf.offer(offeredChanges(panel, wordsOf));
    this.why?.offer(panel).catch((/** @type {Error} */ error) => {
      if (!(error instanceof Stopped)) tell('', error.message);
    });
  }

  /**
   * Return a component's message for a layer: the stored one, or the result of the engine.
   * @param {string} site
   * @param {number} layer
   */
  async messageOf(site, layer) {
    const block = this.isStored
      && document.querySelector(`script[data-site="${CSS.escape(site)}"][data-layer="${layer}"]`);
    if (block) return this.script.messageIn(new Uint8Array(decodeBase64(block.textContent ?? '')));
    const message = await this.askShown('payload', { site, layer });
    this.serial += 1;
    message.header.id = `live ${this.serial}`;
    // Grids redraw a picture only if its digest changes.
    if (message.header.picture) message.header.picture.digest = `live ${this.pictures}`;
    return message;
  }

  /**
   * Ask the engine about the run that is shown.
   * @param {string} call
   * @param {unknown} given
   */
  async askShown(call, given) {
    const engine = await this.engine;
    if (!engine.worker || engine.worker !== this.shownBy) {
      // This worker does not have the trace. It is the stored first run, or another worker was
      // stopped.
      await engine.ask('show', this.shown);
      this.shownBy = engine.worker;
    }
    return engine.ask(call, given);
  }

  /**
   * Run a request and show the model's attention.
   * @param {Partial<Request>} request
   * @param {string | null} source a data URL of a new picture
   * @param {string} note a note for the reader about the picture
   */
  async show(request, source = null, note = '') {
    const engine = await this.engine;
    setBusy(true);
    try {
      const found = await engine.ask('show', request, showProgress);
      const milliseconds = Math.round(engine.milliseconds);
      this.shown = request;
      this.isStored = false;
      this.shownBy = engine.worker;
      this.fields = found.fields;
      if (source) {
        elementOf('picture').src = source;
        this.pictures += 1;
      }
      if (!request.changes) this.unchanged = found.fields.target.raw;
      drawRun(found, request.changes ? this.unchanged : null);
      for (const panel of this.panels) await turn(panel, found);
      tell(`Done in ${milliseconds} ms, on this device.${note}`);
      document.documentElement.dataset.run = `${this.serial}`;
    } catch (error) {
      if (error instanceof Stopped) tell('Stopped. The page shows the run before.');
      else tell('', /** @type {Error} */ (error).message);
    } finally {
      setBusy(false);
    }
  }

  /**
   * Run a request without changing the page, and return its trace as docs/trace.md specifies it.
   * @param {Partial<Request>} request
   * @param {OnProgress | null} onProgress
   */
  async run(request, onProgress = null) {
    // Scripts may give a picture as a file, which is decoded as the form decodes it.
    const given = /** @type {any} */ (request.picture);
    const picture = given instanceof Blob
      ? (await readPicture(await fileAddress(given), 'upload')).picture : request.picture ?? null;
    return (await this.engine).ask('run', { ...request, picture }, onProgress);
  }
}

/** Return the engine of this page; its worker starts with the first question. */
function startEngine() {
  const setting = JSON.parse(elementOf('setting').textContent);
  const pieces = JSON.parse(elementOf('pieces').textContent);
  const model = { ...setting, pieces, weights: elementOf('weights').textContent };
  return new EngineClient(elementOf('engine').textContent, model);
}

/**
 * Replace the texts and tables by those of a run.
 * @param {Shown} found
 * @param {string | null} unchanged the output without changes; null if nothing was changed
 */
function drawRun(found, unchanged) {
  const columns = textColumns(found);
  if (unchanged !== null) {
    const text = readingText(unchanged, unchanged);
    columns.at(-1)?.append(newElement('p', { class: 'label' }, 'Output without changes'), text);
  }
  const texts = document.querySelector('main > .texts');
  const seen = texts?.classList.contains('pictured') ? texts.firstElementChild : null;
  texts?.replaceChildren(...(seen ? [seen] : []), ...columns);
  for (const old of document.querySelectorAll('main > details:not([id]), main > .warning')) old.remove();
  document.querySelector('main')?.append(probabilityTable(found), detailTable(found));
}

/**
 * Components in which readers point at words. Other components choose the first items of a run
 * themselves.
 */
const POINTED = ['ribbon', 'grid'];

/**
 * Show a run in a panel. In components in which readers point at words, select a word.
 * @param {Panel} panel
 * @param {Shown} found
 */
async function turn(panel, { fields }) {
  const field = fields[panel.place[panel.selection.side]];
  const items = field.kind === 'text' ? longestWord(field) : panel.selection.items;
  panel.selection = { ...panel.selection, items: POINTED.includes(panel.kind) ? items : [] };
  await panel.turn(panel.places.indexOf(panel.place));
}

/**
 * Open the page, and let scripts run requests by `window.areaviz.run`.
 * @param {PanelScript} script
 */
export async function openLivePage(script) {
  const page = new LivePage(script);
  // A page in a frame uses the form of the page around it, which runs two models.
  if (window.frameElement) document.documentElement.dataset.framed = '';
  const run = (/** @type {Partial<Request>} */ request, /** @type {OnProgress | null} */ onProgress) => (
    page.run(request, onProgress));
  const ready = page.open();
  /** @type {any} */ (window).areaviz = { run, ready, start: () => page.start() };
  await ready;
}
