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
