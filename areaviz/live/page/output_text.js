// The output of a run as a text with tinted uncertain items, and as a table of probabilities.
// areaviz/page/body.py writes the page's first output in the same form.

/** @typedef {import('../recording.js').Field} Field */
/** @typedef {import('../recording.js').OutputItem} OutputItem */
/** @typedef {{ request: import('../request.js').Request, fields: Record<string, Field>, output: OutputItem[], details: Record<string, string> }} Shown */

const UNSURE = [0.9, 0.7, 0.5, 0.3];
const LONG_TEXT = 120, MOST_ROWS = 256, OTHERS = 3;
/** @type {Record<string, string>} */
const MARKS = { ' ': '␣', '\t': '⇥', '\n': '↵' };

/**
 * Return an element with a text or with parts.
 * @param {string} tag
 * @param {Record<string, string>} attributes
 * @param {(Node | string)[]} parts
 */
export function newElement(tag, attributes, ...parts) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...parts);
  return element;
}

/**
 * Return a label with spaces, control characters and direction marks made visible.
 * @param {string} label
 */
export function visibleLabel(label) {
  const shown = [...label].map((one) => MARKS[one]
    ?? (/^[\p{C}\p{Z}\ufe00-\ufe0f]$/u.test(one) ? codeOf(one) : one)).join('');
  return /^\p{M}/u.test(shown) ? `◌${shown}` : shown;
}

/** @param {string} character */
function codeOf(character) {
  const code = (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0');
  return `⟨U+${code}⟩`;
}

/** @param {number} probability */
function unsureLevel(probability) {
  return UNSURE.filter((step) => probability < step).length;
}

/**
 * Return an element with a text to read. It can have the keyboard focus, because a long text
 * scrolls.
 * @param {string} text
 * @param {(Node | string)[]} parts
 */
export function readingText(text, ...parts) {
  const element = newElement('p', { class: 'reading' }, ...parts);
  if (text.length > LONG_TEXT) element.tabIndex = 0;
  return element;
}

/**
 * Return the input and the output side by side.
 * @param {Shown} shown
 */
export function textColumns({ request, fields, output }) {
  const columns = [], asked = fields.source?.raw ?? request.text;
  if (asked.trim()) {
    const given = readingText(asked, asked);
    columns.push(newElement('div', {}, newElement('p', { class: 'label' }, 'Input'), given));
  }
  const label = newElement('p', { class: 'label' }, 'Output');
  const text = readingText(fields.target.raw, ...tintedParts(fields.target, output));
  const sure = newElement('p', { class: 'sure' }, surenessOf(fields.target, output));
  columns.push(newElement('div', {}, label, text, sure));
  return columns;
}

/**
 * Return the text of the output, with uncertain items as tinted elements.
 * @param {Field} field
 * @param {OutputItem[]} output
 */
function tintedParts({ raw, anchors }, output) {
  const characters = [...raw];
  /** @type {(Node | string)[]} */
  const parts = [];
  let done = 0;
  output.forEach(({ probability }, item) => {
    const [start, end] = anchors[item];
    const level = unsureLevel(probability);
    if (start < done || start === end || !level) return;
    const title = `probability ${Math.round(100 * probability)}%`;
    const text = characters.slice(start, end).join('');
    parts.push(characters.slice(done, start).join(''), newElement('span', { class: `u${level}`, title }, text));
    done = end;
  });
  parts.push(characters.slice(done).join(''));
  return parts.every((part) => part === '') ? [newElement('span', { class: 'sure' }, 'nothing')] : parts;
}

/**
 * Describe the mean probability of the output's items and the least certain one.
 * @param {Field} field
 * @param {OutputItem[]} output
 */
function surenessOf({ labels }, output) {
  const likely = output.map(({ probability }) => probability);
  if (likely.length === 1) return `Probability ${likely[0].toFixed(2)}.`;
  const least = likely.indexOf(Math.min(...likely));
  const logs = likely.reduce((total, one) => total + Math.log(Math.max(one, 1e-12)), 0);
  const mean = Math.exp(logs / likely.length).toFixed(2);
  const tinted = likely[least] < UNSURE[0] ? ' Tinted words are less certain.' : '';
  return `Mean probability ${mean}. Least certain: “${visibleLabel(labels[least])}”`
    + ` (${likely[least].toFixed(2)}).${tinted}`;
}

/**
 * Return a table of the output's items with alternatives for each.
 * @param {Shown} shown
 */
export function probabilityTable({ fields, output }) {
  const head = ['Position', 'Item', 'Probability', 'Other possibilities'];
  const rows = [newElement('tr', {}, ...head.map((cell) => newElement('th', { scope: 'col' }, cell)))];
  const { labels } = fields.target;
  output.slice(0, MOST_ROWS).forEach(({ probability, alternatives }, item) => {
    const others = alternatives.filter(([label]) => label !== labels[item]).slice(0, OTHERS)
      .map(([label, share]) => `${visibleLabel(label)} ${percent(share)}`);
    const sure = newElement('span', { class: `u${unsureLevel(probability)}` }, percent(probability));
    rows.push(newElement(
      'tr', {},
      newElement('td', { class: 'number' }, `${item + 1}`),
      newElement('td', {}, visibleLabel(labels[item])),
      newElement('td', { class: 'number' }, sure),
      newElement('td', {}, others.join(',  ')),
    ));
  });
  const more = output.length > MOST_ROWS ? ` (the first ${MOST_ROWS} of ${output.length})` : '';
  return newElement(
    'details', {},
    newElement('summary', {}, `Probability of every item${more}`),
    newElement('div', { class: 'scrolled' }, newElement('table', {}, ...rows)),
  );
}

/** @param {number} share */
function percent(share) {
  return `${(100 * share).toFixed(1)}%`;
}

/**
 * Return a table of the details of the run.
 * @param {Shown} shown
 */
export function detailTable({ details }) {
  const rows = Object.entries(details).map(([name, value]) => newElement(
    'tr', {}, newElement('th', { scope: 'row' }, name), newElement('td', {}, value)));
  return newElement(
    'details', {}, newElement('summary', {}, 'About this run'), newElement('table', {}, ...rows));
}

// The picture that a model reads: a sample, or a file of the reader. It never leaves the page.

/** @typedef {import('../request.js').Request} Request */
/** @typedef {NonNullable<Request['picture']>} NamedPicture */

// Larger pictures are reduced, as in Python.
const LARGEST_SIDE = 640;
const SMALLER = 'areaviz in Python uses another filter, so its numbers may differ a little.';

/**
 * Return an image from a data URL, or throw an error if it is not a picture.
 * @param {string} source
 */
async function loadedImage(source) {
  const image = new Image();
  image.src = source;
  try {
    await image.decode();
  } catch {
    throw new Error('This file is not a picture that the browser can read. Choose a PNG, JPEG or WebP.');
  }
  return image;
}

/**
 * Return the pixels of a picture, a data URL of exactly these pixels, and a note for the reader.
 * @param {string} source a data URL
 * @param {string} name
 * @returns {Promise<{ picture: NamedPicture, source: string, note: string }>}
 */
export async function readPicture(source, name) {
  const image = await loadedImage(source);
  const scale = Math.min(1, LARGEST_SIDE / Math.max(image.naturalWidth, image.naturalHeight));
  const canvas = document.createElement('canvas');
  canvas.width = Math.max(1, Math.round(image.naturalWidth * scale));
  canvas.height = Math.max(1, Math.round(image.naturalHeight * scale));
  const pen = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d'));
  // Transparent parts become white, like paper.
  pen.fillStyle = '#ffffff';
  pen.fillRect(0, 0, canvas.width, canvas.height);
  pen.drawImage(image, 0, 0, canvas.width, canvas.height);
  const { data } = pen.getImageData(0, 0, canvas.width, canvas.height);
  const pixels = new Uint8Array(canvas.width * canvas.height * 3);
  for (let i = 0, to = 0; i < data.length; i += 4, to += 3) {
    pixels.set(data.subarray(i, i + 3), to);
  }
  const { width, height } = canvas;
  const note = scale < 1 ? ` The browser made the picture smaller, to ${width} x ${height} pixels. ${SMALLER}` : '';
  return { picture: { name, width, height, pixels }, source: canvas.toDataURL('image/png'), note };
}

/**
 * Return the content of a file as a data URL.
 * @param {Blob} file
 * @returns {Promise<string>}
 */
export function fileAddress(file) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(/** @type {string} */ (reader.result));
    reader.onerror = () => reject(new Error('The file cannot be read. Choose another one.'));
    reader.readAsDataURL(file);
  });
}
