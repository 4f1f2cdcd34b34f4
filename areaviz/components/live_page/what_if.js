// "What if": changes of the next run, made from the pinned items of a panel. `interventions.js`
// reads their text.

import { newElement } from './output_text.js';

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
