/**
 * A picture on which the reader drags over a rectangle of cells, or presses two opposite corners.
 */
function rectanglePicture(place, { picture, rows, columns, most, answer, cell, alt }, guessed) {
  let corner = null;
  let guess = null;
  const board = lessonNode('div', 'board');
  const [guessFrame, answerFrame] = ['guess', 'answer'].map((kind) => lessonNode('span', `over ${kind}`));
  const { grid, at } = lessonCells(rows, columns, (row, column) => lessonText(cell, { row: row + 1, column: column + 1 }), press, drag);
  function show() {
    guessFrame.hidden = guess === null;
    if (guess) lessonFrameOver(guessFrame, guess, rows, columns);
    for (let row = 0; row < rows; row += 1) {
      for (let column = 0; column < columns; column += 1) {
        at(row, column).setAttribute('aria-pressed', String(guess !== null && lessonHolds(guess, row, column)));
      }
    }
    guessed(guess !== null);
  }
  function drag(from, to) {
    guess = lessonArea(from, to, most);
    corner = null;
    hasDragged = true;
    show();
  }
  let hasDragged = false;
  function press(row, column) {
    // A drag can end with a click, which is ignored.
    if (hasDragged) { hasDragged = false; return; }
    guess = lessonArea(corner ?? [row, column], [row, column], most);
    corner = corner ? null : [row, column];
    show();
  }
  grid.addEventListener('pointerdown', () => { hasDragged = false; });
  const image = Object.assign(new Image(), { src: picture, alt });
  // Reserve the space of the picture before it is decoded.
  image.style.aspectRatio = `${columns} / ${rows}`;
  board.append(image, grid, guessFrame, answerFrame);
  place.replaceChildren(board);
  answerFrame.hidden = true;
  show();
  return {
    verdict() {
      if (guess.every((number, which) => number === answer[which])) return 'right';
      const [top, left, height, width] = guess;
      const apart = top >= answer[0] + answer[2] || answer[0] >= top + height || left >= answer[1] + answer[3] || answer[1] >= left + width;
      return apart ? 'other' : 'close';
    },
    reveal() {
      lessonFrameOver(answerFrame, answer, rows, columns);
      answerFrame.hidden = false;
    },
    clear() {
      [corner, guess] = [null, null];
      answerFrame.hidden = true;
      show();
    },
  };
}

/**
 * The numbers of a memory with a framed area, and the entries of its table, of which readers press
 * some.
 */
function cornersPicture(place, { memory, table, area, answer, rows, columns, cell, captions }, guessed) {
  const guess = new Set();
  const { grid, at } = lessonCells(
    rows, columns, (row, column) => lessonText(cell, { row, column, value: table[row][column] }), (row, column) => pick(row * columns + column),
  );
  function show() {
    [...grid.children].forEach((button, number) => {
      button.classList.toggle('guess', guess.has(number));
      button.setAttribute('aria-pressed', String(guess.has(number)));
    });
    guessed(guess.size > 0);
  }
  function pick(number) {
    if (!guess.delete(number)) guess.add(number);
    show();
  }
  table.forEach((values, row) => values.forEach((value, column) => { at(row, column).textContent = value; }));
  const left = lessonNode('div', 'board numbers');
  const given = lessonNode('div', 'cells');
  given.style.gridTemplateColumns = `repeat(${memory[0].length}, 1fr)`;
  given.replaceChildren(...memory.flat().map((value) => lessonNode('span', '', value)));
  const frame = lessonNode('span', 'over framed');
  lessonFrameOver(frame, area, memory.length, memory[0].length);
  left.append(given, frame);
  const sides = [[captions[0], left], [captions[1], grid]].map(([text, drawn]) => {
    const side = lessonNode('div', '');
    side.append(lessonNode('p', 'caption', text), drawn);
    return side;
  });
  const both = lessonNode('div', 'sides');
  both.replaceChildren(...sides);
  place.replaceChildren(both);
  show();
  return {
    verdict() {
      const right = answer.filter((number) => guess.has(number)).length;
      if (right === answer.length && guess.size === right) return 'right';
      return right ? 'close' : 'other';
    },
    reveal: () => answer.forEach((number) => grid.children[number].classList.add('answer')),
    clear() {
      guess.clear();
      [...grid.children].forEach((button) => button.classList.remove('answer'));
      show();
    },
  };
}
