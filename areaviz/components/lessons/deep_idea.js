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
