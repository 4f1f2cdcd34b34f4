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

// The pictures of the questions. Each is a function (place, numbers, guessed) that draws into
// `place`, calls `guessed` after every change of the guess, and returns { verdict, reveal, clear }.
// A verdict is 'right', 'close' or 'other'.

/**
 * The verdict on a guessed run of words. Guess and answer are the first and the last place of a
 * run.
 */
function spanVerdict(guess, answer) {
  if (guess[0] === answer[0] && guess[1] === answer[1]) return 'right';
  return guess[0] <= answer[1] && guess[1] >= answer[0] ? 'close' : 'other';
}

/**
 * The verdict on guesses on a line. A right place counts as found if a guess is at most `near`
 * away.
 */
function marksVerdict(guess, answer, near) {
  const away = guess.map((value, place) => Math.abs(value - answer[place]));
  if (away.every((distance) => distance <= near)) return 'right';
  return away.some((distance) => distance <= (guess.length > 1 ? near : 3 * near)) ? 'close' : 'other';
}

/** A text in which the reader presses the first and the last word of a run. */
function spanPicture(place, { written, read, now, answer, captions }, guessed) {
  let guess = null;
  let isOpen = false;
  const words = read.map((word, item) => lessonButton(word, () => pick(item)));
  function show() {
    words.forEach((word, item) => {
      const isIn = guess !== null && item >= guess[0] && item <= guess[1];
      word.classList.toggle('guess', isIn);
      word.setAttribute('aria-pressed', String(isIn));
    });
    guessed(guess !== null);
  }
  function pick(item) {
    guess = isOpen ? [Math.min(guess[0], item), Math.max(guess[1], item)] : [item, item];
    isOpen = !isOpen;
    show();
  }
  // The words keep the order of their own language, even on a page that is read from the right.
  const above = Object.assign(lessonNode('div', 'words'), { dir: 'auto' });
  above.replaceChildren(...written.map((word, item) => lessonNode('span', item === now ? 'now' : '', word)));
  const below = Object.assign(lessonNode('div', 'words'), { dir: 'auto' });
  below.replaceChildren(...words);
  place.replaceChildren(lessonNode('p', 'caption', captions[0]), above, lessonNode('p', 'caption', captions[1]), below);
  show();
  return {
    verdict: () => spanVerdict(guess, answer),
    reveal: () => words.forEach((word, item) => word.classList.toggle('answer', item >= answer[0] && item <= answer[1])),
    clear() {
      guess = null;
      isOpen = false;
      words.forEach((word) => word.classList.remove('answer'));
      show();
    },
  };
}

/**
 * The moments to which speech models attend, with a row for every written item, and where it is
 * spoken.
 */
function listenedStrips(strips) {
  return strips.map(({ name, alt, picture, spoken, hits }) => {
    const strip = lessonNode('figure', 'strip');
    const below = lessonNode('div', 'spoken');
    below.replaceChildren(...spoken.map(([item, start, length], which) => {
      const mark = lessonNode('span', hits[which] ? 'hit' : 'missed', item);
      Object.assign(mark.style, { left: `${100 * start}%`, width: `${100 * length}%` });
      return mark;
    }));
    strip.append(lessonNode('figcaption', 'caption', name), Object.assign(new Image(), { src: picture, alt }), below);
    return strip;
  });
}

/** Lines from `least` to `most`, one for each name, on which the reader sets a place. */
function marksPicture(place, { given = [], names, least, most, step = 1, near = 0.5, answer, before = [], after = [], strips = [] }, guessed) {
  const shown = (value) => value.replace('.', DECIMAL);
  const hasMoved = names.map(() => false);
  const rows = names.map((name, which) => {
    const row = lessonNode('div', 'mark');
    const input = Object.assign(document.createElement('input'), { type: 'range', min: least, max: most, step, value: (least + most) / 2 });
    input.setAttribute('aria-label', name);
    const number = lessonNode('output', '', shown(input.value));
    const line = lessonNode('span', 'line');
    line.append(input);
    input.addEventListener('input', () => {
      number.textContent = shown(input.value);
      hasMoved[which] = true;
      guessed(hasMoved.every(Boolean));
    });
    row.append(lessonNode('label', '', name), line, number);
    return { row, input, line, number };
  });
  const items = lessonNode('div', 'words');
  items.replaceChildren(...given.map((item) => lessonNode('span', '', item)));
  const [bars, answers] = [lessonNode('div', ''), lessonNode('div', 'answers')];
  // The answer's bars replace the bars of the question, or are below the marks if it has none.
  const drawn = before.length ? bars : answers;
  const draw = (some) => drawn.replaceChildren(...(some.length ? [lessonBars(some)] : []));
  place.replaceChildren(...(given.length ? [items] : []), bars, ...rows.map(({ row }) => row), answers);
  draw(before);
  guessed(false);
  const removeDots = () => place.querySelectorAll('.dot').forEach((dot) => dot.remove());
  return {
    verdict: () => marksVerdict(rows.map(({ input }) => Number(input.value)), answer, near),
    reveal() {
      removeDots();
      answers.replaceChildren();
      rows.forEach(({ line }, which) => {
        const dot = lessonNode('span', 'dot');
        // The thumb of a slider is 16 px wide and stays within it.
        dot.style.left = `calc(8px + ${(answer[which] - least) / (most - least)} * (100% - 16px))`;
        line.append(dot);
      });
      draw(after);
      answers.append(...listenedStrips(strips));
    },
    clear() {
      removeDots();
      answers.replaceChildren();
      draw(before);
      hasMoved.fill(false);
      guessed(false);
    },
  };
}

// Pictures in which the reader presses one part: areas of numbers, the edges of a span, or results
// of a run.

/** Buttons in a box, of which the pressed one is the guess. A picture may put them elsewhere. */
function lessonOptions(options, answer, guessed) {
  let guess = null;
  const buttons = options.map((option, which) => lessonButton('', () => pick(which)));
  options.forEach((option, which) => buttons[which].append(lessonNode('span', '', option)));
  function pick(which) {
    guess = which;
    buttons.forEach((button, other) => {
      button.classList.toggle('guess', other === guess);
      button.setAttribute('aria-pressed', String(other === guess));
    });
    guessed(guess !== null);
  }
  const box = lessonNode('div', 'options');
  box.replaceChildren(...buttons);
  pick(null);
  return {
    box,
    buttons,
    verdict: () => (guess === answer ? 'right' : 'other'),
    reveal: () => buttons[answer].classList.add('answer'),
    clear() {
      buttons[answer].classList.remove('answer');
      pick(null);
    },
  };
}

/** Options within a picture, whose bars change with the answer. */
function withBars(choice, before, after) {
  const bars = lessonNode('div', 'answers');
  const draw = (some) => bars.replaceChildren(...(some.length ? [lessonBars(some)] : []));
  draw(before);
  return {
    bars,
    verdict: choice.verdict,
    reveal() {
      choice.reveal();
      draw(after);
    },
    clear() {
      choice.clear();
      draw(before);
    },
  };
}

/** The same numbers once for each area. The reader presses one of these pictures. */
function gridsPicture(place, { memory, areas, after, answer, options }, guessed) {
  const choice = lessonOptions(options, answer, guessed);
  choice.buttons.forEach((button, which) => {
    const grid = lessonNode('span', 'small');
    grid.style.gridTemplateColumns = `repeat(${memory[0].length}, 1fr)`;
    memory.forEach((row, top) => row.forEach((number, left) => {
      grid.append(lessonNode('span', lessonHolds(areas[which], top, left) ? 'lit' : '', number));
    }));
    button.setAttribute('aria-label', options[which]);
    button.replaceChildren(grid);
  });
  const made = withBars(choice, [], after);
  place.replaceChildren(choice.box, made.bars);
  return made;
}

/**
 * A sentence with a span. Each of its two edges has a part that could raise the score. The reader
 * presses one.
 */
function edgesPicture(place, { words, span, before, after, answer, options }, guessed) {
  const choice = lessonOptions(options, answer, guessed);
  const row = Object.assign(lessonNode('div', 'words edges'), { dir: 'auto' });
  const parts = words.map((word, item) => lessonNode('span', item >= span[0] && item <= span[1] ? 'lit' : '', word));
  parts.splice(span[1] + 1, 0, choice.buttons[1]);
  parts.splice(span[0], 0, choice.buttons[0]);
  row.replaceChildren(...parts);
  const made = withBars(choice, before, after);
  place.replaceChildren(row, made.bars);
  return made;
}

/**
 * A sentence with a forbidden span, and possible outputs of a model. The reader presses one output.
 */
function resultsPicture(place, { read, banned, captions, after, answer, options }, guessed) {
  const choice = lessonOptions(options, answer, guessed);
  const above = Object.assign(lessonNode('div', 'words'), { dir: 'auto' });
  above.replaceChildren(...read.map((word, item) => lessonNode('span', item >= banned[0] && item <= banned[1] ? 'banned' : '', word)));
  choice.box.classList.add('results');
  const made = withBars(choice, [], after);
  place.replaceChildren(lessonNode('p', 'caption', captions[0]), above, lessonNode('p', 'caption', captions[1]), choice.box, made.bars);
  return made;
}
