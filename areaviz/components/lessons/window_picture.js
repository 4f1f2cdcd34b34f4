/** A window on a picture, whose size a slider sets; its output appears with the answer. */
function windowPicture(place, { picture, side, small, centre, answer, options, captions, size }, guessed) {
  const pixels = { ...picture, rgb: Uint8Array.from(atob(picture.rgb), (letter) => letter.charCodeAt(0)) };
  const { input, output, frame, figures } = windowParts(pixels, side, captions);
  const slider = Object.assign(document.createElement('input'), { type: 'range', min: small, max: 1, step: 0.01, value: 1 });
  const label = lessonNode('label', 'size', size);
  label.append(slider);
  const own = lessonNode('div', '');
  const choice = choicePicture(own, { before: [], after: [], answer, options }, guessed);
  function draw() {
    const half = Number(slider.value);
    // The window stays within the picture while it is large.
    const [x, y] = centre.map((middle) => Math.sign(middle) * Math.min(Math.abs(middle), 1 - half));
    lessonFrameOver(frame, [y - half + 1, x - half + 1, 2 * half, 2 * half], 2, 2);
    drawWarped(output, pixels, [half, 0, x, 0, half, y]);
  }
  slider.addEventListener('input', draw);
  drawWarped(input, pixels, WHOLE_PICTURE);
  place.replaceChildren(figures, label, own);
  figures.lastChild.style.visibility = 'hidden';
  draw();
  return {
    verdict: choice.verdict,
    reveal() {
      slider.value = String(small);
      draw();
      figures.lastChild.style.visibility = '';
      choice.reveal();
    },
    clear() {
      slider.value = '1';
      draw();
      figures.lastChild.style.visibility = 'hidden';
      choice.clear();
    },
  };
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

/** Draw what a window gives on a square canvas. */
function drawWarped(canvas, pixels, theta) {
  const image = new ImageData(canvas.width, canvas.width);
  warpedPixels(pixels, theta, canvas.width).forEach((rgb, place) => image.data.set([...rgb.map(Math.round), 255], 4 * place));
  canvas.getContext('2d').putImageData(image, 0, 0);
}
