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
