// The mathematics of the window (survey Eq. 26-36). Theta is [a, b, c, d, e, f], two rows of three; it maps a place of
// the output to a place of the input, both (x, y) from -1 to 1 at the outer edges. A picture is {height, width, rgb}.

const IDENTITY = [1, 0, 0, 0, 1, 0];
const LIMIT = 2;
const SMALLEST = 0.05;

const rounded = (number, digits = 3) => Number(number.toFixed(digits)) + 0; // + 0 makes -0 a 0
const limited = (number) => Math.min(Math.max(number, -LIMIT), LIMIT);

function mapped([a, b, c, d, e, f], [x, y]) { return [a * x + b * y + c, d * x + e * y + f]; }

/** Where the output shows a place of the input, or null if the window is a line. */
function unmapped([a, b, c, d, e, f], [x, y]) {
  const area = a * e - b * d;
  return Math.abs(area) < 1e-9 ? null : [(e * (x - c) - b * (y - f)) / area, (a * (y - f) - d * (x - c)) / area];
}

/** Theta once the point `at` of the output's square lies at `place`: the centre moves it, an edge bends it, a corner turns and scales it. */
function pulled(theta, at, place) {
  const [a, b, c, d, e, f] = theta;
  const [x, y] = at;
  const [across, down] = [place[0] - c, place[1] - f];
  if (!x && !y) return [a, b, limited(place[0]), d, e, limited(place[1])];
  if (!y) return [limited(across / x), b, c, limited(down / x), e, f];
  if (!x) return [a, limited(across / y), c, d, limited(down / y), f];
  const [fromX, fromY] = [a * x + b * y, d * x + e * y];
  const length = fromX ** 2 + fromY ** 2;
  if (length < 1e-6 || Math.hypot(across, down) < SMALLEST) return theta;
  return turned(theta, (across * fromX + down * fromY) / length, (down * fromX - across * fromY) / length);
}

/** Theta with its window turned and scaled about its centre, by the complex number real + imaginary i. */
function turned(theta, real, imaginary) {
  const [a, b, c, d, e, f] = theta;
  const made = [real * a - imaginary * d, real * b - imaginary * e, c, imaginary * a + real * d, imaginary * b + real * e, f];
  return made.every((number) => Math.abs(number) <= LIMIT) ? made : theta;
}

const MOVES = [
  ['Identity', () => IDENTITY],
  ['Zoom 2×', (theta) => (Math.hypot(theta[0], theta[3]) < 4 * SMALLEST ? theta : turned(theta, 0.5, 0))],
  ['Rotate 30°', (theta) => turned(theta, Math.cos(Math.PI / 6), Math.sin(Math.PI / 6))],
  ['Flip', ([a, b, c, d, e, f]) => [-a, b, c, -d, e, f]],
];

/** The place of the middle of an output pixel, `side` pixels a side. */
function placeOf(row, column, side) { return [(2 * column + 1) / side - 1, (2 * row + 1) / side - 1]; }

/** The four pixels round a place of the input, with the weight of each (Eq. 32): {row, column, weight, rgb}; 0 outside. */
function around({ height, width, rgb }, [x, y]) {
  const [across, down] = [((x + 1) * width - 1) / 2, ((y + 1) * height - 1) / 2];
  const [left, top] = [Math.floor(across), Math.floor(down)];
  const [p, q] = [across - left, down - top];
  const pixels = [[0, 0, (1 - p) * (1 - q)], [0, 1, p * (1 - q)], [1, 0, (1 - p) * q], [1, 1, p * q]].map(([i, j, weight]) => {
    const [row, column] = [top + i, left + j];
    const inside = row >= 0 && row < height && column >= 0 && column < width;
    const at = 3 * (row * width + column);
    return { row, column, weight, inside, rgb: inside ? rgb.subarray(at, at + 3) : [0, 0, 0] };
  });
  return { pixels, p, q };
}

/** The four pixels by their weights: red, green, blue. */
function mixed(pixels) {
  return [0, 1, 2].map((channel) => pixels.reduce((sum, { weight, rgb }) => sum + weight * rgb[channel], 0));
}

const brightness = ([red, green, blue]) => (red + green + blue) / 765;

/** How the brightness changes as the place moves one input pixel to the right and down (Eq. 35, 36). */
function slopes({ pixels, p, q }) {
  const [one, two, three, four] = pixels.map((pixel) => brightness(pixel.rgb));
  return [(1 - q) * (two - one) + q * (four - three), (1 - p) * (three - one) + p * (four - two)];
}

/** The output: every pixel has a place in the input, and takes what lies there. */
function warped(picture, theta, side) {
  const image = new ImageData(side, side);
  for (let row = 0; row < side; row += 1) {
    for (let column = 0; column < side; column += 1) {
      const { pixels } = around(picture, mapped(theta, placeOf(row, column, side)));
      image.data.set([...mixed(pixels).map(Math.round), 255], 4 * (row * side + column));
    }
  }
  return image;
}
