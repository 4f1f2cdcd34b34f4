// Elements and numbers that several components share. All text enters the page through textContent.

function made(tag, className = '', text = '') {
  return Object.assign(document.createElement(tag), { className, textContent: text });
}

function bold(text) { return made('b', '', text); }

/** An element to be drawn inside of `svg`. */
function drawn(svg, tag, attributes, text = '') {
  const node = document.createElementNS(svg.namespaceURI, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.textContent = text;
  return node;
}

/** A share, from 0 to 1, in whole per cent, which no line break divides. */
function percent(share) { return `${Math.round(100 * share)}\u00a0%`; }
