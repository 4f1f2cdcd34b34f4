// Parts that the pictures and explanations of the questions share.

function lessonNode(tag, className, text = '') {
  return Object.assign(document.createElement(tag), { className, textContent: text });
}

function lessonButton(text, press) {
  const button = Object.assign(document.createElement('button'), { type: 'button', textContent: text });
  button.addEventListener('click', press);
  return button;
}

/** A text with its placeholders, such as {row}, replaced. */
function lessonText(text, values) {
  return text.replace(/\{(\w+)\}/g, (all, name) => (name in values ? String(values[name]) : all));
}

/** Horizontal bars: [name, length, number as text]. */
function lessonBars(bars) {
  const most = Math.max(...bars.map(([, share]) => share));
  const drawn = lessonNode('div', 'bars');
  for (const [name, share, text] of bars) {
    const bar = document.createElement('i');
    bar.style.width = `${(100 * share) / most}%`;
    drawn.append(lessonNode('span', '', name), bar, lessonNode('span', '', text));
  }
  return drawn;
}

const LESSON_ARROWS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

/**
 * A grid of cells that can be pressed. The Tab key reaches one of them, and arrow keys go to the
 * others. `press(row, column)` is called after a press, and `drag(from, to)` while the pointer is
 * dragged from one cell to another.
 */
function lessonCells(rows, columns, nameOf, press, drag) {
  const grid = lessonNode('div', 'cells');
  grid.style.gridTemplateColumns = `repeat(${columns}, 1fr)`;
  let from = null;
  const at = (row, column) => grid.children[row * columns + column];
  for (let row = 0; row < rows; row += 1) {
    for (let column = 0; column < columns; column += 1) {
      const cell = lessonButton('', () => press(row, column));
      cell.setAttribute('aria-label', nameOf(row, column));
      cell.tabIndex = row || column ? -1 : 0;
      cell.addEventListener('focus', () => {
        for (const other of grid.children) other.tabIndex = other === cell ? 0 : -1;
      });
      cell.addEventListener('keydown', (event) => {
        const step = LESSON_ARROWS[event.key];
        if (!step) return;
        event.preventDefault();
        const [down, across] = [row + step[0], column + step[1]];
        if (down >= 0 && down < rows && across >= 0 && across < columns) at(down, across).focus();
      });
      grid.append(cell);
    }
  }
  if (drag) {
    const cellAt = ({ clientX, clientY }) => {
      const box = grid.getBoundingClientRect();
      const within = (part, count) => Math.min(Math.max(Math.floor(part * count), 0), count - 1);
      return [within((clientY - box.top) / box.height, rows), within((clientX - box.left) / box.width, columns)];
    };
    grid.addEventListener('pointerdown', (event) => { from = cellAt(event); });
    grid.addEventListener('pointermove', (event) => {
      if (!from || !event.buttons) return;
      const to = cellAt(event);
      if (to[0] === from[0] && to[1] === from[1]) return;
      event.preventDefault();
      drag(from, to);
    });
    for (const name of ['pointerup', 'pointercancel']) grid.addEventListener(name, () => { from = null; });
  }
  return { grid, at };
}

/**
 * The area from one cell to another, no larger than `most` from the first one: [top, left, height,
 * width].
 */
function lessonArea([row, column], [otherRow, otherColumn], [high, wide]) {
  const height = Math.min(Math.abs(otherRow - row) + 1, high);
  const width = Math.min(Math.abs(otherColumn - column) + 1, wide);
  return [otherRow < row ? row - height + 1 : row, otherColumn < column ? column - width + 1 : column, height, width];
}

/** Whether an area holds a cell. */
function lessonHolds([top, left, height, width], row, column) {
  return row >= top && row < top + height && column >= left && column < left + width;
}

/** Put a frame over an area of a grid. Its position and size are shares of the grid's sides. */
function lessonFrameOver(frame, [top, left, height, width], rows, columns) {
  Object.assign(frame.style, {
    top: `${(100 * top) / rows}%`, left: `${(100 * left) / columns}%`, height: `${(100 * height) / rows}%`, width: `${(100 * width) / columns}%`,
  });
}
