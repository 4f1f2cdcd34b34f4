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

// Go deeper, questions 1 to 6: areas, their keys and values, and their weights.

/** All areas of a sequence. The reader chooses its length and the largest area. */
function deepSequence(place, { length, longest }, texts) {
  let chosen = 5;
  const picture = lessonNode('div', '');
  const { parts, set } = deepTexts(2);
  const { box, values } = deepSliders([
    { name: texts.length, least: 2, most: 12, value: length },
    { name: texts.longest, least: 1, most: 12, value: longest },
  ], draw);
  function draw([items, most]) {
    const areas = allAreas(1, items, 1, most);
    const size = Math.min(items, most);
    chosen = Math.min(chosen, areas.length - 1);
    const pick = (number) => { chosen = number; draw(values()); };
    picture.replaceChildren(
      deepStairs(areas, items, (number) => ({ text: '', isLit: number === chosen }), pick),
      deepItems(Array.from({ length: items }, (_, item) => String(item + 1)), (item) => lessonHolds(areas[chosen], 0, item)),
    );
    set(texts.how, lessonText(texts.count, {
      items, size, starts: items - size, block: (items - size) * size, stair: (size * (size + 1)) / 2, count: runCount(items, most),
    }));
  }
  place.replaceChildren(parts[0], box, picture, parts[1]);
  draw(values());
}

/** All areas of a grid: the numbers of runs down and across multiply. */
function deepRectangles(place, { height, width, tallest, widest }, texts) {
  const picture = lessonNode('div', '');
  const { parts, set } = deepTexts(3);
  const { box, values } = deepSliders([
    { name: texts.height, least: 2, most: 8, value: height },
    { name: texts.width, least: 2, most: 8, value: width },
    { name: texts.tallest, least: 1, most: 4, value: tallest },
    { name: texts.widest, least: 1, most: 4, value: widest },
  ], draw);
  function draw([rows, columns, high, wide]) {
    const areas = allAreas(rows, columns, high, wide);
    const [down, across] = [runCount(rows, high), runCount(columns, wide)];
    const cells = Array.from({ length: rows }, () => Array.from({ length: columns }, () => ''));
    const nameOf = (row, column) => lessonText(texts.cell, { row: row + 1, column: column + 1 });
    const { grid, choose } = deepGrid(cells, [high, wide], nameOf, (area) => {
      const number = areas.findIndex((other) => other.every((part, which) => part === area[which]));
      set(texts.how, lessonText(texts.chosen, { high: area[2], wide: area[3], number: number + 1, count: areas.length }), lessonText(texts.count, { down, across, count: down * across }));
    });
    picture.replaceChildren(grid);
    choose([0, 0, Math.min(high, rows), Math.min(wide, columns)]);
  }
  place.replaceChildren(parts[0], box, picture, parts[1], parts[2]);
  draw(values());
}

/** Mean, sum and deviation of an area that the reader drags over. */
function deepMeanAndSum(place, { memory }, texts) {
  const vectors = memory.map((row) => row.map((number) => [number]));
  const bars = lessonNode('div', '');
  const { parts, set } = deepTexts(2);
  const nameOf = (row, column) => lessonText(texts.cell, { row: row + 1, column: column + 1, value: memory[row][column] });
  const { grid, choose } = deepGrid(memory.map((row) => row.map(String)), [memory.length, memory[0].length], nameOf, (area) => {
    const held = vectorsOf(vectors, area);
    const [mean, sum, deviation] = [meanOf(held)[0], sumOf(held)[0], deviationOf(held)[0]];
    set(texts.how, lessonText(texts.computed, { items: held.join(' + '), sum, size: held.length, mean: deepNumber(mean) }));
    bars.replaceChildren(lessonBars([[texts.mean, mean, deepNumber(mean)], [texts.sum, sum, deepNumber(sum)], [texts.deviation, deviation, deepNumber(deviation)]]));
  });
  place.replaceChildren(parts[0], grid, parts[1], bars);
  choose([0, 1, 2, 2]);
}

/**
 * Weights of all spans, shares of the items and the output, for a query that the reader chooses.
 */
function deepAttention(place, { keys, values: vectors, query, longest }, texts) {
  const picture = lessonNode('div', '');
  const { parts, set } = deepTexts(3);
  const { box, values } = deepSliders([
    { name: texts.first, least: -2, most: 2, step: 0.1, value: query[0] },
    { name: texts.second, least: -2, most: 2, step: 0.1, value: query[1] },
    { name: texts.longest, least: 1, most: keys.length, value: longest },
  ], draw);
  function draw([first, second, most]) {
    const { areas, weights, shares, output } = attendSpans([first, second], keys, vectors, most);
    const top = weights.indexOf(Math.max(...weights));
    const total = shares.reduce((sum, share) => sum + share, 0);
    picture.replaceChildren(
      deepStairs(areas, keys.length, (number) => ({ text: decimal(weights[number], 3), share: weights[number], isLit: number === top })),
      deepItems(keys.map((key) => deepVector(key)), (item) => lessonHolds(areas[top], 0, item)),
      lessonBars(shares.map((share, item) => [lessonText(texts.share, { number: item + 1 }), share, decimal(share, 3)])),
    );
    set(texts.how, lessonText(texts.heaviest, { sum: decimal(total, 3) }), lessonText(most === 1 ? texts.regular : texts.output, { output: deepVector(output) }));
  }
  place.replaceChildren(parts[0], box, picture, parts[1], parts[2]);
  draw(values());
}

/** All steps from the items of an area to its key. */
function deepFeatures(place, { memory, learned }, texts) {
  const table = lessonNode('div', 'facts');
  const { parts, set } = deepTexts(2);
  const nameOf = (row, column) => lessonText(texts.cell, { row: row + 1, column: column + 1, value: deepVector(memory[row][column]) });
  const { grid, choose } = deepGrid(memory.map((row) => row.map((item) => deepVector(item))), [memory.length, memory[0].length], nameOf, (area) => {
    const found = keyOfArea(memory, area, learned);
    const rows = ['mean', 'deviation', 'shape', 'hidden', 'active', 'key'].flatMap((name) => [lessonNode('span', '', texts[name]), lessonNode('b', '', deepVector(found[name], 2))]);
    table.replaceChildren(...rows);
  });
  set(texts.how, texts.note);
  place.replaceChildren(parts[0], grid, table, parts[1]);
  choose([0, 1, 2, 2]);
}

/** Why a span never has the largest weight with a mean key, and with which keys it can. */
function deepBoundaries(place, { words, logits, longest, begins, ends, paper }, texts) {
  const picture = lessonNode('div', '');
  const { parts, set } = deepTexts(5);
  const { box, values } = deepSliders(['start', 'end', 'bias'].map((name) => ({ name: texts[name], least: -1, most: 1, step: 0.05, value: 0, show: (number) => deepNumber(number, 2) })), draw);
  const spanOf = ([, left, , width]) => words.slice(left, left + width).join(' ');
  function draw([start, end, bias]) {
    const { areas, weights, logits: totals } = attendBoundaries(logits, longest, { bias, start, end, begins, ends });
    const top = weights.indexOf(Math.max(...weights));
    picture.replaceChildren(
      deepStairs(areas, words.length, (number) => ({ text: decimal(weights[number], 3), share: weights[number], isLit: number === top })),
      deepItems(words, (item) => lessonHolds(areas[top], 0, item)),
    );
    const isSpan = areas[top][3] > 1;
    set(texts.why, texts.sliders, lessonText(isSpan ? texts.span : texts.item, { words: spanOf(areas[top]), weight: decimal(weights[top], 3), logit: deepNumber(totals[top], 2) }), texts.paper, texts.learns);
  }
  place.replaceChildren(parts[0], parts[1], box, picture, parts[2], parts[3], parts[4]);
  draw(values());
}

// Go deeper, questions 7 to 13: costs and benefits of areas, and other kinds of attention.

/** The cost of attention to areas, for a number of items and a largest area. */
function deepCost(place, { items, longest, depth }, texts) {
  const picture = lessonNode('div', '');
  const { parts, set } = deepTexts(3);
  const { box, values } = deepSliders([
    { name: texts.items, least: 4, most: 10, value: Math.log2(items), show: (power) => String(2 ** power) },
    { name: texts.longest, least: 1, most: 10, value: longest },
  ], draw);
  function draw([power, most]) {
    const count = operationsOf(2 ** power, most, depth);
    const [built, factored] = [count.built / count.regular, count.factored / count.regular];
    picture.replaceChildren(lessonBars([[texts.regular, 1, decimal(1, 2)], [texts.built, built, decimal(built, 2)], [texts.factored, factored, decimal(factored, 2)]]));
    set(texts.how, lessonText(texts.count, { items: 2 ** power, areas: count.areas }), lessonText(texts.building, { recurrence: count.recurrence, table: count.table }));
  }
  place.replaceChildren(parts[0], box, parts[1], picture, parts[2]);
  draw(values());
}

/**
 * The losses of all key forms, compared with regular attention for each seed, and how often a span
 * is on top.
 */
function deepWorth(place, { forms }, texts) {
  const picture = lessonNode('div', '');
  const { parts, set } = deepTexts(2);
  const choice = deepChoice(forms.map(({ name }) => name), (which) => {
    const { losses, spans } = forms[which];
    const bars = losses.flatMap((loss, seed) => [[lessonText(texts.run, { seed: seed + 1 }), loss, decimal(loss, 3)]]);
    const regular = forms[0].losses.map((loss, seed) => [lessonText(texts.regularRun, { seed: seed + 1 }), loss, decimal(loss, 3)]);
    picture.replaceChildren(lessonBars(which ? [...bars, ...regular] : bars));
    set(texts.how, spans === null ? texts.never : lessonText(texts.spans, { encoder: Math.round(100 * spans[0]), decoder: Math.round(100 * spans[1]) }));
  });
  place.replaceChildren(parts[0], choice.box, picture, parts[1]);
  choice.press(2);
}

/** The sum of any rectangle from four entries of the table. */
function deepTable(place, { memory }, texts) {
  const table = tableOf(memory);
  const { parts, set } = deepTexts(2);
  const sums = lessonNode('div', 'cells numbers');
  sums.style.gridTemplateColumns = `repeat(${table[0].length}, 1fr)`;
  sums.replaceChildren(...table.flat().map((value) => lessonNode('span', '', value)));
  const nameOf = (row, column) => lessonText(texts.cell, { row: row + 1, column: column + 1, value: memory[row][column] });
  const { grid, choose } = deepGrid(memory.map((row) => row.map(String)), [memory.length, memory[0].length], nameOf, (area) => {
    const [top, left, height, width] = area;
    const [all, both, before, above] = cornersOf(table, area);
    const marked = new Map([[`${top + height} ${left + width}`, 'plus'], [`${top} ${left}`, 'plus'], [`${top + height} ${left}`, 'minus'], [`${top} ${left + width}`, 'minus']]);
    table.forEach((row, down) => row.forEach((_, across) => { sums.children[down * row.length + across].className = marked.get(`${down} ${across}`) ?? ''; }));
    set(texts.how, lessonText(texts.sum, { all, both, before, above, sum: all + both - before - above, additions: height * width - 1 }));
  });
  const both = lessonNode('div', 'sides');
  both.append(grid, sums);
  place.replaceChildren(parts[0], both, parts[1]);
  choose([0, 1, 3, 3]);
}

/** The weights of both speech models along the recording, for one digit. */
function deepListeners(place, { text, listeners, spoken }, texts) {
  const picture = lessonNode('div', '');
  const { parts, set } = deepTexts(2);
  const { box, values } = deepSliders([{ name: texts.digit, least: 1, most: text.length, value: 5, show: (number) => text[number - 1] }], draw);
  function draw([number]) {
    const [, start, length] = spoken[number - 1];
    picture.replaceChildren(...listeners.map(({ name, weights }) => {
      const row = weights[number - 1];
      const most = Math.max(...row);
      const figure = lessonNode('figure', 'wave');
      const canvas = Object.assign(document.createElement('canvas'), { width: 640, height: 80 });
      canvas.setAttribute('role', 'img');
      canvas.setAttribute('aria-label', lessonText(texts.peak, { name, percent: Math.round(100 * most) }));
      drawWave(canvas, row.map((weight) => weight / most), start, length);
      figure.append(lessonNode('figcaption', 'caption', lessonText(texts.peak, { name, percent: Math.round(100 * most) })), canvas);
      return figure;
    }));
    set(texts.how, texts.note);
  }
  place.replaceChildren(parts[0], box, picture, parts[1]);
  draw(values());
}

/** Draw the weights of all moments as a curve up to 1, over a band that marks speech. */
function drawWave(canvas, weights, start, length) {
  const context = canvas.getContext('2d');
  const { width, height } = canvas;
  context.fillStyle = 'rgb(128 128 128 / 0.4)';
  context.fillRect(start * width, 0, length * width, height);
  context.strokeStyle = '#009e73';
  context.lineWidth = 3;
  context.beginPath();
  weights.forEach((weight, moment) => context.lineTo(((moment + 0.5) * width) / weights.length, height - 3 - weight * (height - 6)));
  context.stroke();
}

const DEEP_ESTIMATES = 200;

/**
 * Estimates of a gradient from draws, for a baseline that the reader chooses, and their exact
 * variance.
 */
function deepHardChoice(place, { scores, rewards }, texts) {
  const choice = choiceOf(scores, rewards);
  const canvas = Object.assign(document.createElement('canvas'), { width: 640, height: 240, className: 'cloud' });
  canvas.setAttribute('role', 'img');
  canvas.setAttribute('aria-label', texts.cloud);
  const bars = lessonNode('div', '');
  const { parts, set } = deepTexts(3);
  let state = 7;
  // A small generator (mulberry32), so that all moves of a slider use the same draws.
  const random = () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixedBits = Math.imul(state ^ (state >>> 15), 1 | state);
    mixedBits = (mixedBits + Math.imul(mixedBits ^ (mixedBits >>> 7), 61 | mixedBits)) ^ mixedBits;
    return ((mixedBits ^ (mixedBits >>> 14)) >>> 0) / 4294967296;
  };
  const draws = Array.from({ length: DEEP_ESTIMATES }, () => Array.from({ length: 64 }, random));
  const { box, values } = deepSliders([
    { name: texts.baseline, least: -4, most: 0, step: 0.05, value: 0, show: (number) => deepNumber(number, 2) },
    { name: texts.samples, least: 0, most: 6, value: 0, show: (power) => String(2 ** power) },
  ], draw);
  function draw([baseline, power]) {
    const samples = 2 ** power;
    const estimates = draws.map((row) => estimateOf(choice, row.slice(0, samples), baseline));
    drawCloud(canvas, estimates, choice.gradient);
    const [none, mean, best, own] = [0, choice.expected, choice.best, baseline].map((level) => varianceOf(choice, samples, level));
    bars.replaceChildren(lessonBars([[texts.none, none], [texts.mean, mean], [texts.best, best], [texts.own, own]].map(([name, height]) => [name, height, decimal(height, 3)])));
    set(texts.how, texts.cloud, lessonText(texts.note, { mean: deepNumber(choice.expected, 2), best: deepNumber(choice.best, 2) }));
  }
  place.replaceChildren(parts[0], box, canvas, parts[1], bars, parts[2]);
  draw(values());
}

/** Draw a column for each score, with a dot for each estimate and a line at the exact gradient. */
function drawCloud(canvas, estimates, exact) {
  const context = canvas.getContext('2d');
  const [width, height] = [canvas.width, canvas.height];
  const column = width / exact.length;
  const y = (slope) => height / 2 - (slope * height) / 8;
  context.clearRect(0, 0, width, height);
  context.fillStyle = '#56b4e9';
  estimates.forEach((slopes, number) => slopes.forEach((slope, score) => {
    // Multiples of the golden ratio spread the dots of a column evenly.
    context.fillRect((score + 0.15 + 0.7 * ((number * 0.618034) % 1)) * column, y(slope) - 2, 4, 4);
  }));
  context.fillStyle = '#d55e00';
  exact.forEach((slope, score) => context.fillRect((score + 0.1) * column, y(slope) - 2, 0.8 * column, 4));
}

/** A window that is moved, turned and scaled, and its output. */
function deepWindow(place, { picture, side, captions, theta }, texts) {
  const pixels = { ...picture, rgb: Uint8Array.from(atob(picture.rgb), (letter) => letter.charCodeAt(0)) };
  const { input, output, frame, figures } = windowParts(pixels, side, captions);
  frame.remove();
  const outline = Object.assign(document.createElement('canvas'), { width: 480, height: 480, className: 'outline' });
  outline.setAttribute('aria-hidden', 'true');
  input.after(outline);
  const { parts, set } = deepTexts(2);
  const { box, values } = deepSliders([
    { name: texts.size, least: 0.2, most: 1.2, step: 0.01, value: theta[0] },
    { name: texts.turn, least: -180, most: 180, step: 1, value: 20, show: (angle) => `${angle}°`.replace('-', '−') },
    { name: texts.across, least: -1, most: 1, step: 0.01, value: theta[1] },
    { name: texts.down, least: -1, most: 1, step: 0.01, value: theta[2] },
  ], draw);
  function draw([size, angle, x, y]) {
    const [cosine, sine] = [size * Math.cos((angle * Math.PI) / 180), size * Math.sin((angle * Math.PI) / 180)];
    const map = [cosine, -sine, x, sine, cosine, y];
    drawWarped(output, pixels, map);
    const context = outline.getContext('2d');
    context.clearRect(0, 0, 480, 480);
    context.beginPath();
    for (const corner of [[-1, -1], [1, -1], [1, 1], [-1, 1]]) context.lineTo(...mapped(map, corner).map((number) => 240 * (number + 1)));
    context.closePath();
    [context.strokeStyle, context.lineWidth] = ['#009e73', 6];
    context.stroke();
    set(texts.how, lessonText(texts.matrix, { first: deepVector(map.slice(0, 3), 2), second: deepVector(map.slice(3), 2) }));
  }
  // A drag on the picture moves the two sliders of the window's middle.
  const [across, down] = [...box.querySelectorAll('input')].slice(2);
  const follow = ({ clientX, clientY, buttons }) => {
    if (!buttons) return;
    const view = input.getBoundingClientRect();
    across.value = String((2 * (clientX - view.left)) / view.width - 1);
    down.value = String((2 * (clientY - view.top)) / view.height - 1);
    for (const slider of [across, down]) slider.dispatchEvent(new Event('input'));
  };
  input.style.touchAction = 'none';
  for (const name of ['pointerdown', 'pointermove']) input.addEventListener(name, follow);
  drawWarped(input, pixels, WHOLE_PICTURE);
  place.replaceChildren(parts[0], box, figures, parts[1]);
  draw(values());
}

/**
 * A translator's outputs with the probability of each word: unchanged, with an area banned, and
 * with a word hidden.
 */
function deepReason(place, { runs }, texts) {
  const picture = lessonNode('div', '');
  const { parts, set } = deepTexts(2);
  const choice = deepChoice(runs.map(({ name }) => name), (which) => {
    picture.replaceChildren(lessonBars(runs[which].words.map(([word, sure]) => [word, sure, decimal(sure, 2)])));
    set(texts.how, texts.note);
  });
  place.replaceChildren(parts[0], choice.box, picture, parts[1]);
  choice.press(0);
}

/** The explanations by the names of their questions. */
const LESSON_DEPTHS = {
  first_span: deepSequence,
  rectangle: deepRectangles,
  key_and_value: deepMeanAndSum,
  shares: deepAttention,
  spread: deepFeatures,
  boundary: deepBoundaries,
  work: deepCost,
  worth: deepWorth,
  corners: deepTable,
  listeners: deepListeners,
  hard_choice: deepHardChoice,
  window: deepWindow,
  reason: deepReason,
};
