// Interventions on attention, as in areaviz/trace/changes.py: factors on the weights of
// areas, factors on the output of heads (gates), and hidden items. Positions count from 0 here, and
// from 1 in texts.

/** @typedef {import('./attention.js').AreaGrid} AreaGrid */
/** @typedef {import('./attention.js').Area} Area */
/**
 * @typedef {object} Change
 * @property {'weigh' | 'gate' | 'hide'} kind
 * @property {string} name the site, or the field of a hidden item
 * @property {number[]} items
 * @property {Area[]} areas
 * @property {number} factor
 * @property {number | null} layer null for all layers
 * @property {number | null} head null for all heads
 * @property {number | null} query null for all queries
 * @property {boolean} rest whether all other areas change instead
 */

const KINDS = ['weigh', 'gate', 'hide'];

/**
 * Read changes from a line such as "weigh:encoder-decoder:items=3-5:layer=2;hide:source:items=1".
 * @param {string} text
 * @returns {Change[]}
 */
export function readChanges(text) {
  return text.split(';').filter(Boolean).map(readChange);
}

/**
 * @param {string} text one change
 * @returns {Change}
 */
function readChange(text) {
  const [kind, name, ...parts] = text.split(':');
  const options = Object.fromEntries(parts.map((part) => part.split('=')));
  if (!KINDS.includes(kind) || !name) {
    throw new Error(`"${text}" is not a change that this page can make. Use weigh, gate or hide.`);
  }
  const place = (/** @type {string} */ part) => (part in options ? +options[part] - 1 : null);
  return {
    kind: /** @type {Change['kind']} */ (kind),
    name,
    items: readPositions(options.items ?? ''),
    areas: (options.areas ?? '').split(',').filter(Boolean).map(readArea),
    factor: +(options.factor ?? 0),
    layer: place('layer'),
    head: place('head'),
    query: place('query'),
    rest: options.rest === '1',
  };
}

/**
 * Return the positions of a list such as "3-5,12".
 * @param {string} text
 */
function readPositions(text) {
  return text.split(',').filter(Boolean).flatMap((part) => {
    const [first, last] = part.split('-').map(Number);
    return Array.from({ length: (last ?? first) - first + 1 }, (_, i) => first - 1 + i);
  });
}

/**
 * @param {string} text an area such as "1.3.1.2": top, left, height and width
 * @returns {Area}
 */
function readArea(text) {
  const [top, left, height, width] = text.split('.').map(Number);
  return { top: top - 1, left: left - 1, height, width };
}

/** The changes to one layer's attention to one memory. */
export class LayerChanges {
  /**
   * @param {Change[]} weighs
   * @param {Change[]} gates
   */
  constructor(weighs, gates) {
    this.weighs = weighs;
    this.gates = gates;
    /** @type {WeakMap<AreaGrid, boolean[][]>} */
    this.touched = new WeakMap();
  }

  /**
   * Return the factor on the weight of every area, or null if nothing changes for this query.
   * @param {AreaGrid} grid
   * @param {number} head
   * @param {number | null} query null while the model writes. Changes of single queries do not
   *   apply then.
   */
  factors(grid, head, query) {
    const chosen = this.weighs.flatMap((weigh, number) => {
      const isHead = weigh.head === null || weigh.head === head;
      return isHead && (weigh.query === null || weigh.query === query) ? [number] : [];
    });
    if (!chosen.length) return null;
    const found = new Float32Array(grid.count).fill(1);
    const touched = this.areas(grid);
    for (const number of chosen) {
      const { factor } = this.weighs[number];
      touched[number].forEach((isTouched, area) => { if (isTouched) found[area] *= factor; });
    }
    return found;
  }

  /**
   * Return which areas of a grid each change applies to.
   * @param {AreaGrid} grid
   */
  areas(grid) {
    let found = this.touched.get(grid);
    if (!found) {
      found = this.weighs.map((weigh) => touchedAreas(weigh, grid));
      this.touched.set(grid, found);
    }
    return found;
  }

  /**
   * Return the factor on the output of a head.
   * @param {number} head
   */
  gate(head) {
    const own = this.gates.filter((gate) => gate.head === null || gate.head === head);
    return own.reduce((product, { factor }) => product * factor, 1);
  }
}

/**
 * Return which areas a change applies to: those that contain its items, and its areas.
 * @param {Change} weigh
 * @param {AreaGrid} grid
 */
function touchedAreas({ items, areas, rest }, grid) {
  return grid.areas().map((area) => {
    const isNamed = areas.some((one) => one.top === area.top && one.left === area.left
      && one.height === area.height && one.width === area.width);
    const holds = items.some((item) => {
      const down = Math.floor(item / grid.width) - area.top, across = (item % grid.width) - area.left;
      return down >= 0 && down < area.height && across >= 0 && across < area.width;
    });
    return (isNamed || holds) !== rest;
  });
}

/** All changes of a run. */
export class Changes {
  /**
   * @param {Change[]} changes
   * @param {Record<string, [string, string]>} sites the query and memory field of every site
   */
  constructor(changes = [], sites = {}) {
    this.hides = changes.filter(({ kind }) => kind === 'hide');
    this.others = changes.filter(({ kind }) => kind !== 'hide');
    for (const hide of this.hides) {
      for (const [site, [, memory]] of Object.entries(sites)) {
        if (memory !== hide.name) continue;
        // Hidden items are like padding: no area that contains one of them is attended to.
        this.others.push({ ...hide, kind: 'weigh', name: site, factor: 0 });
      }
    }
  }

  /**
   * Return the changes to one layer of a site, or null if there are none.
   * @param {string} site
   * @param {number} layer
   */
  at(site, layer) {
    const own = this.others.filter(({ name, layer: one }) => name === site && (one === null || one === layer));
    if (!own.length) return null;
    const kinds = (/** @type {string} */ kind) => own.filter((change) => change.kind === kind);
    return new LayerChanges(kinds('weigh'), kinds('gate'));
  }

  /**
   * Return the hidden items of a field, for networks that read it without attention.
   * @param {string} field
   */
  hidden(field) {
    return new Set(this.hides.filter(({ name }) => name === field).flatMap(({ items }) => items));
  }
}

export const UNCHANGED = new Changes();
