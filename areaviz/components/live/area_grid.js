// The areas of a memory and their order, as in areaviz/trace/areas.py: size-major (for every height,
// for every width), then row by row over the top-left corner.

/** @typedef {{ top: number, left: number, height: number, width: number }} Area */
/** @typedef {{ height: number, width: number, first: number, rows: number, columns: number }} Slab */

/** All areas of a `height` x `width` memory up to `maxHeight` x `maxWidth` items. */
export class AreaGrid {
  /**
   * @param {number} height rows of the memory, 1 for a sequence
   * @param {number} width items of a row
   * @param {number} maxHeight rows of the largest area
   * @param {number} maxWidth columns of the largest area
   */
  constructor(height, width, maxHeight, maxWidth) {
    this.height = height;
    this.width = width;
    this.maxHeight = Math.min(maxHeight, height);
    this.maxWidth = Math.min(maxWidth, width);
    /** @type {Slab[]} */
    this.slabs = [];
    let count = 0;
    for (let tall = 1; tall <= this.maxHeight; tall += 1) {
      for (let wide = 1; wide <= this.maxWidth; wide += 1) {
        const rows = height - tall + 1, columns = width - wide + 1;
        this.slabs.push({ height: tall, width: wide, first: count, rows, columns });
        count += rows * columns;
      }
    }
    /** The number of areas. */
    this.count = count;
    /** The number of items of the memory. */
    this.items = height * width;
  }

  /**
   * Return the areas of one shape: the index of the first one, and the rows and columns of corners.
   * @param {number} height
   * @param {number} width
   */
  slab(height, width) {
    return this.slabs[(height - 1) * this.maxWidth + width - 1];
  }

  /**
   * Return the place of an area in the order.
   * @param {Area} area
   */
  index({ top, left, height, width }) {
    const { first, columns } = this.slab(height, width);
    return first + top * columns + left;
  }

  /**
   * Return all areas in their order.
   * @returns {Area[]}
   */
  areas() {
    const found = [];
    for (const { height, width, rows, columns } of this.slabs) {
      for (let top = 0; top < rows; top += 1) {
        for (let left = 0; left < columns; left += 1) found.push({ top, left, height, width });
      }
    }
    return found;
  }
}

/**
 * Return the areas of a sequence.
 * @param {number} items
 * @param {number} most items of the largest area
 */
export function sequenceGrid(items, most) {
  return new AreaGrid(1, items, 1, most);
}
