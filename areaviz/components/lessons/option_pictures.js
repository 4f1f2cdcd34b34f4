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
