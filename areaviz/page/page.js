// A page in a file, or in the frame of a notebook's output (areaviz/page/page.py). It contains
// all its layers and fetches nothing.

document.getElementById('without-script')?.remove();
const told = JSON.parse(document.getElementById('panels').textContent);

/** Tell the notebook around this page the height for its frame, now and after every change. */
function tellHeight() {
  const root = document.documentElement;
  const tell = () => window.parent.postMessage({ areaviz: Math.ceil(root.getBoundingClientRect().height) }, '*');
  new ResizeObserver(tell).observe(root);
}

async function payloadOf(site, layer) {
  const block = document.querySelector(`script[data-site="${CSS.escape(site)}"][data-layer="${layer}"]`);
  if (!block) throw new Error(`no layer ${layer} of ${site}`);
  return bytesOf(block.textContent);
}

if (told.isFrame) tellHeight();
const messageOf = (site, layer) => messageIn(payloadOf(site, layer));
await openPanels(told, { root: document, labels: told.labels, link: 'page', messageOf, why: told.isFrame ? ', which carries one layer of each site' : null });
