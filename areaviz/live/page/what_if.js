// "What if": changes of the next run, made from the pinned items of a panel. `interventions.js`
// reads their text.

import { newElement, visibleLabel } from './output_text.js';

/**
 * @typedef {object} Pinned what a panel shows and what is pinned in it
 * @property {{ site: string, query: string, memory: string }} place
 * @property {number} layer
 * @property {{ side: 'query' | 'memory', items: number[], head: number | null }} selection
 */
/** @typedef {{ text: string, words: string }} ListedChange */

/** The fields whose items can be hidden. */
const INPUT_FIELDS = ['source', 'picture'];

/**
 * Return positions as text, counted from 1: [2, 3, 4, 11] is "3-5,12".
 * @param {number[]} items
 */
export function packedItems(items) {
  /** @type {[number, number][]} */
  const runs = [];
  for (const item of [...items].sort((one, other) => one - other)) {
    const last = runs.at(-1);
    if (last && last[1] === item) last[1] = item + 1;
    else runs.push([item, item + 1]);
  }
  return runs.map(([first, end]) => (end - first > 1 ? `${first + 1}-${end}` : `${first + 1}`)).join(',');
}

/**
 * Return the changes for the pinned items, by the id of their button.
 * @param {Pinned} pinned
 * @param {(field: string, items: number[]) => string} wordsOf names items for readers
 * @returns {Record<string, ListedChange | null>}
 */
export function offeredChanges({ place, layer, selection: { side, items, head } }, wordsOf) {
  const field = place[side], at = packedItems(items);
  const isMemory = side === 'memory' && items.length > 0;
  const named = items.length ? `“${wordsOf(field, items)}”` : '';
  const weigh = (/** @type {string} */ factor, /** @type {string} */ words) => (isMemory
    ? { text: `weigh:${place.site}:items=${at}${factor}`, words: `${words} ${named} (${place.site})` } : null);
  const where = `${place.site}, layer ${layer + 1}`;
  return {
    'live-ban': weigh('', 'Ban'),
    'live-double': weigh(':factor=4', 'Four times the weight of'),
    'live-hide': items.length && INPUT_FIELDS.includes(field)
      ? { text: `hide:${field}:items=${at}`, words: `Hide ${named} from every head` } : null,
    'live-gate': head === null ? null : {
      text: `gate:${place.site}:layer=${layer + 1}:head=${head + 1}`,
      words: `Switch off head ${head + 1} (${where})`,
    },
  };
}

/** The list of changes, and the buttons that add to it. */
export class WhatIf {
  /**
   * @param {HTMLElement} root the element with the buttons and the list
   * @param {() => void} onChange called when the list has changed
   */
  constructor(root, onChange) {
    this.root = root;
    this.onChange = onChange;
    /** @type {ListedChange[]} */
    this.changes = [];
    /** @type {Record<string, ListedChange | null>} */
    this.offered = {};
    for (const button of this.buttons()) {
      button.addEventListener('click', () => {
        const change = this.offered[button.id];
        if (change) this.set([...this.changes, change]);
      });
    }
  }

  buttons() {
    return /** @type {HTMLButtonElement[]} */ ([...this.root.querySelectorAll('[data-change]')]);
  }

  /** The text of all changes, as a request has it. */
  get text() {
    return this.changes.map(({ text }) => text).join(';');
  }

  /**
   * Offer the changes for the pinned items.
   * @param {Record<string, ListedChange | null>} offered
   */
  offer(offered) {
    this.offered = offered;
    for (const button of this.buttons()) {
      const change = offered[button.id];
      button.disabled = !change || this.changes.some(({ text }) => text === change.text);
    }
  }

  /** @param {ListedChange[]} changes */
  set(changes) {
    this.draw(changes);
    this.onChange();
  }

  /** @param {ListedChange[]} changes */
  draw(changes) {
    this.changes = changes;
    const rows = changes.map((change) => {
      const remove = newElement('button', { type: 'button' }, 'Remove');
      remove.setAttribute('aria-label', `Remove: ${change.words}`);
      remove.addEventListener('click', () => this.set(this.changes.filter((one) => one !== change)));
      return newElement('li', {}, newElement('span', {}, change.words), remove);
    });
    this.root.querySelector('ul')?.replaceChildren(...rows);
  }
}

// "Why this weight": a panel with the terms of the logits of two areas for the pinned items. The
// engine computes them (live/payloads.js). areaviz/views/why.py is the view of the app.


/** @typedef {import('../attention.js').Area} Area */
/** @typedef {Area & { number: number, weight: number }} OfferedArea */
/** @typedef {{ labels: string[], anchors: number[][] }} SeenField */
/** @typedef {OfferedArea & { items: number[], parts: Record<string, number> }} AskedArea */
/**
 * @typedef {object} Why
 * @property {number} head
 * @property {OfferedArea[]} areas
 * @property {OfferedArea[]} others
 * @property {AskedArea[]} asked the area to explain, and the compared area
 * @property {{ item: number, score: number }[]} items
 * @property {number} columns columns of a picture's cells; 0 for a sequence
 */
/**
 * @typedef {object} PinnedQuery what a panel shows and what is pinned in it
 * @property {{ site: string, query: string, memory: string }} place
 * @property {number} layer
 * @property {{ side: 'query' | 'memory', items: number[], head: number | null, areas?: string }}
 *   selection
 */

/** @type {Record<string, string>} */
const PARTS = {
  mean: 'mean of q · k',
  start: 'start of the first item',
  end: 'end of the last item',
  shape: 'shape',
  changed: 'logarithm of the change’s factor',
};
const LONGEST_QUOTE = 40;
const NOTHING_PINNED = 'Select the word that attends, in the figure above.';
const NO_ATTENTION = 'It attends to nothing in this layer.';
const NO_TERMS = 'The weights of this layer have no such terms.';

/** The panel. It asks the engine only while it is open. */
export class WhyPanel {
  /**
   * @param {HTMLDetailsElement} root
   * @param {(question: object) => Promise<Why | null>} ask
   * @param {(field: string) => SeenField} fieldOf
   */
  constructor(root, ask, fieldOf) {
    this.root = root;
    this.ask = ask;
    this.fieldOf = fieldOf;
    /** @type {PinnedQuery | null} */
    this.pinned = null;
    this.asked = 0;
    root.addEventListener('toggle', () => this.draw());
    for (const menu of this.menus()) menu.addEventListener('change', () => this.draw(true));
  }

  menus() {
    return /** @type {HTMLSelectElement[]} */ ([...this.root.querySelectorAll('select')]);
  }

  /**
   * Set the pinned items of a panel to explain.
   * @param {PinnedQuery} pinned
   */
  offer({ place, layer, selection }) {
    this.pinned = { place, layer, selection: { ...selection } };
    return this.draw();
  }

  /**
   * Ask the engine and draw its answer.
   * @param {boolean} isChosen whether the reader has chosen the areas
   */
  async draw(isChosen = false) {
    const { pinned } = this;
    if (!this.root.open || !pinned) return;
    this.asked += 1;
    const number = this.asked;
    const { side, items, head, areas } = pinned.selection;
    if (side !== 'query' || !items.length) {
      this.say(NOTHING_PINNED);
      return;
    }
    const [area, beside] = this.menus().map(({ value }) => (isChosen ? +value : null));
    const smallest = areas === 'several' ? 2 : 1;
    const { site } = pinned.place;
    const found = await this.ask({ site, layer: pinned.layer, head, query: items[0], smallest, area, beside });
    // Ignore the answer if another question was asked in the meantime.
    if (number !== this.asked) return;
    if (!found) this.say(NO_TERMS);
    else if (!found.areas.length) this.say(NO_ATTENTION);
    else this.show(found, pinned);
  }

  /** @param {string} sentence */
  say(sentence) {
    for (const menu of this.menus()) menu.disabled = true;
    this.root.querySelector('.why')?.replaceChildren(newElement('p', { class: 'facts' }, sentence));
  }

  /**
   * @param {Why} why
   * @param {PinnedQuery} pinned
   */
  show(why, { place, selection: { items } }) {
    const memory = this.fieldOf(place.memory);
    const nameOf = (/** @type {Area} */ area) => areaWords(area, memory, why.columns);
    const [main, other] = why.asked;
    [why.areas, why.others].forEach((areas, number) => {
      const menu = this.menus()[number], chosen = why.asked[number]?.number;
      menu.disabled = areas.length < 2;
      menu.replaceChildren(...areas.map((area) => {
        const option = newElement('option', { value: `${area.number}` }, `${nameOf(area)}, ${wholePercent(area.weight)}`);
        if (area.number === chosen) option.setAttribute('selected', '');
        return option;
      }));
    });
    const whose = `“${visibleLabel(this.fieldOf(place.query).labels[items[0]])}”, head ${why.head + 1}`;
    const title = other
      ? `${nameOf(main)} has ${wholePercent(main.weight)} of the attention of ${whose}, ${timesText(main.weight / other.weight)} as much as ${nameOf(other)}.`
      : `${nameOf(main)} has ${wholePercent(main.weight)} of the attention of ${whose}.`;
    const itemName = (/** @type {number} */ item) => (why.columns
      ? `row ${Math.floor(item / why.columns) + 1}, column ${(item % why.columns) + 1}` : visibleLabel(memory.labels[item]));
    this.root.querySelector('.why')?.replaceChildren(
      newElement('p', {}, title),
      scrolled('Terms of the logits', partsTable(why.asked, nameOf)),
      scrolled('q · k of the items', itemsTable(why, itemName)),
    );
  }
}

/**
 * Return the name of an area: its text in quotes, or the rows and columns of its cells.
 * @param {Area} area
 * @param {SeenField} field
 * @param {number} columns
 */
function areaWords({ top, left, height, width }, { labels, anchors }, columns) {
  if (columns) return `${runText('row', top, height)}, ${runText('column', left, width)}`;
  let text = '';
  for (let item = left; item < left + width; item += 1) {
    if (item > left && anchors[item - 1][1] < anchors[item][0]) text += ' ';
    text += visibleLabel(labels[item]);
  }
  const letters = [...text];
  const clipped = letters.length > LONGEST_QUOTE ? `${letters.slice(0, LONGEST_QUOTE - 1).join('')}…` : text;
  return `“${clipped}” (${runText('item', left, width)})`;
}

/**
 * Return neighbours as text, such as "row 2" or "rows 2-3".
 * @param {string} name
 * @param {number} first
 * @param {number} count
 */
function runText(name, first, count) {
  return count === 1 ? `${name} ${first + 1}` : `${name}s ${first + 1}-${first + count}`;
}

/**
 * Return a table with the terms of the areas, their sum and the weight.
 * @param {AskedArea[]} asked
 * @param {(area: Area) => string} nameOf
 */
function partsTable(asked, nameOf) {
  const names = [...new Set(asked.flatMap(({ parts }) => Object.keys(parts)))];
  const valuesOf = (/** @type {string} */ name) => asked.map(({ parts }) => parts[name] ?? 0);
  const logits = asked.map(({ parts }) => Object.values(parts).reduce((total, one) => total + one, 0));
  const most = Math.max(...names.flatMap(valuesOf).map(Math.abs), ...logits.map(Math.abs));
  const heads = ['Part of the logit', ...asked.map(nameOf), ...(asked.length > 1 ? ['difference'] : [])];
  const rows = [...names.map((name) => ({ name: PARTS[name], values: valuesOf(name) })), { name: 'logit', values: logits }]
    .map(({ name, values }) => newElement(
      'tr', {}, newElement('th', { scope: 'row' }, name),
      ...values.map((value, area) => barCell(value, most, area)),
      ...(values.length > 1 ? [newElement('td', { class: 'number' }, signed(values[0] - values[1]))] : []),
    ));
  const weights = asked.map(({ weight }) => newElement('td', {}, wholePercent(weight)));
  rows.push(newElement('tr', {}, newElement('th', { scope: 'row' }, 'weight'), ...weights));
  return newElement('table', {}, headRow(heads), ...rows);
}

/**
 * Return a table with q . k of the items under the areas and around them.
 * @param {Why} why
 * @param {(item: number) => string} itemName
 */
function itemsTable({ items, asked }, itemName) {
  const most = Math.max(...items.map(({ score }) => Math.abs(score)));
  const rows = items.map(({ item, score }) => {
    const holder = asked.findIndex((area) => area.items.includes(item));
    const where = holder < 0 ? 'in none' : ['in the first area', 'in the second alone'][holder];
    return newElement(
      'tr', {}, newElement('th', { scope: 'row' }, itemName(item)), barCell(score, most, holder),
      newElement('td', {}, where));
  });
  return newElement('table', {}, headRow(['Item', 'q · k', 'Where it is']), ...rows);
}

/** @param {string[]} names */
function headRow(names) {
  return newElement('tr', {}, ...names.map((name) => newElement('th', { scope: 'col' }, name)));
}

/**
 * Return a table in a box that scrolls by itself.
 * @param {string} label
 * @param {HTMLElement} table
 */
function scrolled(label, table) {
  return newElement('div', { class: 'scrolled', tabindex: '0', role: 'region', 'aria-label': label }, table);
}

/**
 * Return a table cell with a number and a bar of proportional length.
 * @param {number} value
 * @param {number} most the number of the longest bar
 * @param {number} area the number of its area, or -1 outside of all areas
 */
function barCell(value, most, area) {
  const bar = newElement('span', { class: `bar of${area + 1}`, 'aria-hidden': 'true' });
  // The page's security policy allows styles that a script sets, but no styles in markup.
  bar.style.width = `${(60 * Math.abs(value)) / (most || 1)}px`;
  return newElement('td', { class: 'barred' }, newElement('span', { class: 'number' }, signed(value)), bar);
}

/** @param {number} value */
function signed(value) {
  return `${value < 0 ? '−' : '+'}${Math.abs(value).toFixed(2)}`;
}

/** @param {number} share */
function wholePercent(share) {
  return `${Math.round(100 * share)}%`;
}

/** @param {number} ratio */
function timesText(ratio) {
  return ratio < 1000 ? `${Number(ratio.toPrecision(3))} times` : 'over 1,000 times';
}
