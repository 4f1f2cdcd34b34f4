/**
 * Names that the reader presses in order, the first one first. They are not parts of a picture,
 * because the bars of the picture would show the answer.
 */
function orderPicture(place, { options, answer, place: label, after }, guessed) {
  let guess = [];
  const buttons = options.map((option, which) => lessonButton('', () => pick(which)));
  const bars = lessonNode('div', 'answers');
  function show() {
    buttons.forEach((button, which) => {
      const at = guess.indexOf(which);
      button.textContent = at < 0 ? options[which] : `${lessonText(label, { place: at + 1 })} ${options[which]}`;
      button.classList.toggle('guess', at >= 0);
      button.setAttribute('aria-pressed', String(at >= 0));
    });
    guessed(guess.length === options.length);
  }
  function pick(which) {
    guess = guess.includes(which) ? guess.filter((other) => other !== which) : [...guess, which];
    show();
  }
  const choices = lessonNode('div', 'options');
  choices.replaceChildren(...buttons);
  place.replaceChildren(choices, bars);
  show();
  return {
    verdict() {
      if (guess.every((which, at) => which === answer[at])) return 'right';
      return guess[0] === answer[0] ? 'close' : 'other';
    },
    reveal: () => bars.replaceChildren(lessonBars(after)),
    clear() {
      guess = [];
      bars.replaceChildren();
      show();
    },
  };
}

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

/**
 * A window on a picture, whose size the reader sets with a slider. The reader presses the output
 * that the small window gives. The answer shows the true output next to it.
 */
function windowPicture(place, { picture, side, small, centre, zooms, answer, options, captions, size }, guessed) {
  const pixels = { ...picture, rgb: Uint8Array.from(atob(picture.rgb), (letter) => letter.charCodeAt(0)) };
  const { input, output, frame, figures } = windowParts(pixels, side, captions.slice(0, 2));
  const slider = Object.assign(document.createElement('input'), { type: 'range', min: small, max: 1, step: 0.01, value: 1 });
  const label = lessonNode('label', 'size', size);
  label.append(slider);
  const choice = lessonOptions(options, answer, guessed);
  choice.buttons.forEach((button, which) => {
    const canvas = Object.assign(document.createElement('canvas'), { width: side, height: side });
    drawWarped(canvas, pixels, windowMap(zooms[which], centre));
    button.prepend(canvas);
  });
  const outputs = lessonNode('div', 'outputs');
  outputs.append(lessonNode('p', 'caption', captions[2]), choice.box);
  function draw() {
    const map = windowMap(Number(slider.value), centre);
    const [half, , x, , , y] = map;
    lessonFrameOver(frame, [y - half + 1, x - half + 1, 2 * half, 2 * half], 2, 2);
    drawWarped(output, pixels, map);
  }
  slider.addEventListener('input', draw);
  drawWarped(input, pixels, WHOLE_PICTURE);
  const live = figures.lastChild;
  figures.append(outputs);
  place.replaceChildren(figures, label);
  live.hidden = true;
  draw();
  return {
    verdict: choice.verdict,
    reveal() {
      slider.value = String(small);
      draw();
      live.hidden = false;
      choice.reveal();
    },
    clear() {
      slider.value = '1';
      draw();
      live.hidden = true;
      choice.clear();
    },
  };
}

/**
 * The theta of a square window with half a side of `half`. A large window is moved into the
 * picture.
 */
function windowMap(half, centre) {
  const [x, y] = centre.map((middle) => Math.sign(middle) * Math.min(Math.abs(middle), Math.max(1 - half, 0)));
  return [half, 0, x, 0, half, y];
}

/** The canvases of the picture and of the output, each with its caption. */
function windowParts(pixels, side, captions) {
  const [input, output] = [pixels.width, side].map((width, which) => {
    const canvas = Object.assign(document.createElement('canvas'), { width, height: width });
    canvas.setAttribute('role', 'img');
    canvas.setAttribute('aria-label', captions[which]);
    return canvas;
  });
  const frame = lessonNode('span', 'over framed');
  const figures = lessonNode('div', 'sides');
  figures.replaceChildren(...[input, output].map((canvas, which) => {
    const board = lessonNode('div', 'board');
    board.append(canvas, ...(which ? [] : [frame]));
    const figure = lessonNode('div', '');
    figure.append(lessonNode('p', 'caption', captions[which]), board);
    return figure;
  }));
  return { input, output, frame, figures };
}

const WHOLE_PICTURE = [1, 0, 0, 0, 1, 0];

/** Draw the output of a window on a square canvas. */
function drawWarped(canvas, pixels, theta) {
  const image = new ImageData(canvas.width, canvas.width);
  warpedPixels(pixels, theta, canvas.width).forEach((rgb, place) => image.data.set([...rgb.map(Math.round), 255], 4 * place));
  canvas.getContext('2d').putImageData(image, 0, 0);
}

/** The pictures of questions by their names. */
const LESSON_PICTURES = {
  span: spanPicture,
  rectangle: rectanglePicture,
  marks: marksPicture,
  grids: gridsPicture,
  edges: edgesPicture,
  results: resultsPicture,
  order: orderPicture,
  corners: cornersPicture,
  window: windowPicture,
};
