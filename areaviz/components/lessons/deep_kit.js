// Parts of the explanations that "Go deeper" opens. An explanation is a function (place, numbers,
// texts) that draws into `place`. It computes everything in the browser, so sliders have no delay.

/**
 * Sliders, each { name, least, most, step, value, show }. `changed` gets their values after every
 * move.
 */
function deepSliders(sliders, changed) {
  const box = lessonNode('div', 'sliders');
  const inputs = sliders.map(({ name, least, most, step = 1, value, show = (number) => String(number).replace('.', DECIMAL) }) => {
    const row = lessonNode('label', '');
    const input = Object.assign(document.createElement('input'), { type: 'range', min: least, max: most, step, value });
    const number = lessonNode('output', '', show(value));
    input.addEventListener('input', () => {
      number.textContent = show(Number(input.value));
      changed(inputs.map((one) => Number(one.value)));
    });
    row.append(lessonNode('span', '', name), input, number);
    box.append(row);
    return input;
  });
  return { box, values: () => inputs.map((one) => Number(one.value)) };
}

/** Buttons, of which exactly one is pressed. */
function deepChoice(names, changed) {
  const box = lessonNode('div', 'options');
  const buttons = names.map((name, which) => lessonButton(name, () => press(which)));
  function press(which) {
    buttons.forEach((button, other) => button.setAttribute('aria-pressed', String(other === which)));
    changed(which);
  }
  box.replaceChildren(...buttons);
  return { box, press };
}

/** Paragraphs of text, each replaced at every change. */
function deepTexts(count) {
  const parts = Array.from({ length: count }, () => lessonNode('p', ''));
  return { parts, set: (...texts) => texts.forEach((text, which) => { parts[which].textContent = text; }) };
}

/**
 * Spans as a staircase, the longest on top. `look(number)` returns { text, share, isLit } of a
 * span, and `pick(number)` is called after a press.
 */
function deepStairs(areas, items, look, pick) {
  const longest = Math.max(...areas.map((area) => area[3]));
  const stairs = lessonNode('div', 'stairs');
  stairs.style.gridTemplateColumns = `repeat(${items}, minmax(0, 1fr))`;
  areas.forEach(([, left, , width], number) => {
    const { text, share = 0, isLit } = look(number);
    const cell = lessonNode('span', isLit ? 'lit' : '', text);
    cell.style.gridArea = `${longest - width + 1} / ${left + 1}`;
    cell.style.setProperty('--share', `${Math.round(100 * share)}%`);
    if (pick) cell.addEventListener('click', () => pick(number));
    stairs.append(cell);
  });
  return stairs;
}

/** The items of a sequence in a row, some of them highlighted. */
function deepItems(names, isLit) {
  const row = lessonNode('div', 'stairs items');
  row.style.gridTemplateColumns = `repeat(${names.length}, minmax(0, 1fr))`;
  row.replaceChildren(...names.map((name, item) => lessonNode('span', isLit(item) ? 'lit' : '', name)));
  return row;
}

/**
 * A grid of texts. The reader drags over an area, or presses two corners. `picked` gets the area.
 */
function deepGrid(texts, most, nameOf, picked) {
  const [rows, columns] = [texts.length, texts[0].length];
  let corner = null;
  let hasDragged = false;
  const { grid, at } = lessonCells(rows, columns, nameOf, press, (from, to) => {
    hasDragged = true;
    corner = null;
    choose(lessonArea(from, to, most));
  });
  grid.addEventListener('pointerdown', () => { hasDragged = false; });
  grid.classList.add('picked');
  texts.forEach((row, top) => row.forEach((text, left) => { at(top, left).textContent = text; }));
  function press(row, column) {
    if (hasDragged) return;
    choose(lessonArea(corner ?? [row, column], [row, column], most));
    corner = corner ? null : [row, column];
  }
  function choose(area) {
    for (let row = 0; row < rows; row += 1) {
      for (let column = 0; column < columns; column += 1) {
        const isIn = lessonHolds(area, row, column);
        at(row, column).classList.toggle('lit', isIn);
        at(row, column).setAttribute('aria-pressed', String(isIn));
      }
    }
    picked(area);
  }
  return { grid, choose };
}

const deepNumber = (number, digits = 3) => String(Number(number.toFixed(digits)) + 0).replace('-', '−').replace('.', DECIMAL);
const deepVector = (numbers, digits = 3) => (numbers.length === 1 ? deepNumber(numbers[0], digits) : `(${numbers.map((number) => deepNumber(number, digits)).join(DECIMAL === ',' ? '; ' : ', ')})`);
