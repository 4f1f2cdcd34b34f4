// Theta as six numbers that can be written, and the four pixels that one output pixel is made of.

const signed = (number) => `${number < 0 ? '−' : '+'}${Math.abs(number).toFixed(2)}`;
const minus = (number) => number.toFixed(2).replace('-', '−');

class Numbers {
  constructor(root, onWrite) {
    this.root = root;
    this.inputs = Array.from({ length: 6 }, (_, index) => this.input(index, onWrite));
    root.append(...this.inputs);
  }

  input(index, onWrite) {
    const [row, column] = [Math.floor(index / 3), index % 3];
    const input = Object.assign(document.createElement('input'), { type: 'number', step: 0.05, min: -LIMIT, max: LIMIT });
    input.className = ['across', 'down', 'centre'][column];
    input.setAttribute('aria-label', `Theta, row ${row + 1}, column ${column + 1}`);
    input.addEventListener('input', () => {
      if (input.value && Number.isFinite(input.valueAsNumber)) onWrite(index, limited(input.valueAsNumber));
    });
    input.addEventListener('blur', () => this.show(this.theta));
    return input;
  }

  /** Write theta down; a number that is just being typed is left as it is. */
  show(theta) {
    this.theta = theta;
    const writing = this.root.getRootNode().activeElement;
    this.inputs.forEach((input, index) => {
      const number = rounded(theta[index]);
      if (input !== writing || limited(input.valueAsNumber) !== number) input.value = number;
    });
  }
}

/** Four pixels and their weights, with the place between their middles that is read (the survey's Fig. 11). */
class Loupe {
  constructor(root) {
    this.cells = Array.from({ length: 4 }, () => document.createElement('span'));
    this.spot = Object.assign(document.createElement('i'), { className: 'spot' });
    root.append(...this.cells, this.spot);
  }

  show({ pixels, p, q }) {
    pixels.forEach(({ rgb, weight, inside }, index) => {
      const cell = this.cells[index];
      cell.textContent = weight.toFixed(2);
      cell.classList.toggle('outside', !inside);
      Object.assign(cell.style, { background: inside ? `rgb(${[...rgb].join(' ')})` : '', color: inside ? (brightness(rgb) > 0.45 ? '#1A1A1A' : '#FFFFFF') : '' });
    });
    Object.assign(this.spot.style, { left: `${25 + 50 * p}%`, top: `${25 + 50 * q}%` });
  }
}

/** What one output pixel reads, in words. */
function facts([row, column], place, found) {
  const [{ row: top, column: left }] = found.pixels;
  const outside = found.pixels.filter((pixel) => !pixel.inside).length;
  const [across, down] = slopes(found);
  return {
    output: `row ${row + 1}, column ${column + 1}`,
    input: `x ${minus(place[0])}, y ${minus(place[1])}`,
    four: outside === 4 ? 'outside the picture: 0' : `rows ${top + 1}, ${top + 2}; columns ${left + 1}, ${left + 2}${outside ? `, ${outside} of them outside: 0` : ''}`,
    value: brightness(mixed(found.pixels)).toFixed(2),
    slope: `x ${signed(across)}, y ${signed(down)}`,
  };
}
