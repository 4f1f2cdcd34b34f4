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
