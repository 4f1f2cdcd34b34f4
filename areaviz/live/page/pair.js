// Two live pages side by side, each in its own frame. One form gives its text to both models.

import { elementOf, setBusy, tell } from './form.js';

/** The fields that both pages have. */
const SHARED = ['live-text', 'live-decoding'];
const CHOSEN = ['live-picture', 'live-file'];

/**
 * Open a page in a frame, and keep the frame as tall as the page.
 * @param {HTMLIFrameElement} frame
 */
async function openFrame(frame) {
  const loaded = new Promise((resolve) => { frame.addEventListener('load', resolve, { once: true }); });
  frame.srcdoc = JSON.parse(elementOf(frame.dataset.page ?? '').textContent);
  await loaded;
  frame.hidden = false;
  frame.parentElement?.querySelector('.still')?.remove();
  const { body } = pageIn(frame);
  new ResizeObserver(() => { frame.style.height = `${body.offsetHeight + 4}px`; }).observe(body);
  await liveIn(frame).ready;
}

/** @param {HTMLIFrameElement} frame */
function pageIn(frame) {
  return /** @type {Document} */ (frame.contentDocument);
}

/**
 * Return the functions that the page in a frame offers to scripts.
 * @param {HTMLIFrameElement} frame
 * @returns {{ ready: Promise<void>, start(): Promise<void> }}
 */
function liveIn(frame) {
  return /** @type {any} */ (frame.contentWindow).areaviz;
}

/**
 * Return a field of the form in a frame, or null if its model has none.
 * @param {HTMLIFrameElement} frame
 * @param {string} id
 */
function fieldIn(frame, id) {
  return /** @type {HTMLInputElement | null} */ (pageIn(frame).getElementById(id));
}

/**
 * Run both models on the input of the form.
 * @param {HTMLIFrameElement[]} frames
 */
async function runBoth(frames) {
  setBusy(true);
  for (const frame of frames) {
    for (const id of SHARED) {
      const field = fieldIn(frame, id);
      if (field) field.value = elementOf(id).value;
    }
  }
  await Promise.all(frames.map((frame) => liveIn(frame).start()));
  setBusy(false);
  // Clear the message, because each page reports on its own model.
  tell('');
}

/**
 * Choose a picture in both pages, which run their models on it.
 * @param {HTMLIFrameElement[]} frames
 * @param {string} id
 */
function chooseInBoth(frames, id) {
  for (const frame of frames) {
    const field = /** @type {HTMLInputElement} */ (fieldIn(frame, id));
    if (field.files) field.files = elementOf(id).files;
    else field.value = elementOf(id).value;
    field.dispatchEvent(new Event('change'));
  }
}

/** Open both pages and the form above them. */
export async function openPair() {
  const frames = [...document.querySelectorAll('iframe')];
  await Promise.all(frames.map(openFrame));
  elementOf('live').addEventListener('submit', (/** @type {Event} */ event) => {
    event.preventDefault();
    runBoth(frames);
  });
  elementOf('live-stop').addEventListener('click', () => {
    for (const frame of frames) fieldIn(frame, 'live-stop')?.click();
  });
  for (const id of CHOSEN) {
    document.getElementById(id)?.addEventListener('change', () => chooseInBoth(frames, id));
  }
  elementOf('live').hidden = false;
  document.documentElement.dataset.live = 'ready';
}
