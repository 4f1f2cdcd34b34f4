// The picture that a model reads: a sample, or a file of the reader. It never leaves the page.

/** @typedef {import('../live/request.js').Request} Request */
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
