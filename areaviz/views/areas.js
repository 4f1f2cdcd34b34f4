// Areas of a memory: their places, the overlap of two areas, and the heaviest areas with little
// overlap. Python (areaviz/trace/areas.py) finds the heaviest areas of every query and sends
// them, with the number to highlight and their largest overlap. This file chooses areas that Python
// cannot know: areas of several hovered items together, and areas for an overlap that the reader
// sets.

/** The areas of a grid, by their index: size-major, then row by row (areaviz/trace/areas.py). */
class AreaGrid {
  constructor([rows, columns, tallest, widest]) {
    this.slabs = [];
    let first = 0;
    for (let height = 1; height <= tallest; height += 1) {
      for (let width = 1; width <= widest; width += 1) {
        this.slabs.push({ first, height, width, corners: columns - width + 1 });
        first += (rows - height + 1) * (columns - width + 1);
      }
    }
  }

  area(index) {
    const { first, height, width, corners } = this.slabs.findLast((slab) => slab.first <= index);
    return { top: Math.floor((index - first) / corners), left: (index - first) % corners, height, width };
  }
}

/** The place of an area, counted from 1. */
function areaText({ top, left, height, width }) {
  const rows = { number: top + 1, first: top + 1, last: top + height };
  const columns = { number: left + 1, first: left + 1, last: left + width };
  const high = height === 1 ? sentence('row {number}', rows) : sentence('rows {first}-{last}', rows);
  const wide = width === 1 ? sentence('column {number}', columns) : sentence('columns {first}-{last}', columns);
  return `${high}, ${wide}`;
}

/** Intersection over union of two areas. */
function iou(a, b) {
  const rows = Math.min(a.top + a.height, b.top + b.height) - Math.max(a.top, b.top);
  const columns = Math.min(a.left + a.width, b.left + b.width) - Math.max(a.left, b.left);
  const both = Math.max(rows, 0) * Math.max(columns, 0);
  return both / (a.height * a.width + b.height * b.width - both);
}

/**
 * The area with the most weight, or the first of equally heavy areas. Null if there are no areas.
 */
function heaviest(weighed) {
  return weighed.reduce((best, one) => (best && best.weight >= one.weight ? best : one), null);
}

/**
 * The `many` heaviest of {area, weight}, without those that overlap a heavier one by more than
 * `most`.
 */
function heaviestApart(weighed, many, most) {
  const found = [];
  for (const one of [...weighed].sort((a, b) => b.weight - a.weight)) {
    if (found.length >= many) break;
    if (found.every((other) => iou(one.area, other.area) <= most)) found.push(one);
  }
  return found;
}
