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
