// The page in a notebook's widget (areaviz/page/widget.py). It requests layers from the
// notebook's process over the widget's channel. The selection in the page and `widget.focus` in
// Python are kept equal.

const MOST_SECONDS = 20;

/**
 * The page of a widget, in a shadow tree, so that styles and ids of notebook and page do not
 * conflict.
 */
function pageOf(model, el) {
  const root = el.attachShadow({ mode: 'open' });
  const style = named('style', '', model.get('_style'));
  const page = named('div', 'page');
  page.innerHTML = model.get('_body');
  for (const template of page.querySelectorAll('template[shadowrootmode]')) { // setting markup does not open shadow trees
    template.parentElement.attachShadow({ mode: 'open' }).append(template.content);
    template.remove();
  }
  root.append(style, page);
  const height = model.get('_height');
  if (height) Object.assign(page.style, { maxHeight: `${height}px`, overflowY: 'auto' });
  return root;
}

function bytesIn(view) { return new Uint8Array(view.buffer, view.byteOffset, view.byteLength); }

/** Requests for layers to the notebook's process. `ask` fails if the process does not answer. */
class LayerChannel {
  constructor(model) {
    Object.assign(this, { model, waiting: new Map(), asked: 0 });
    this.answer = this.answer.bind(this);
    model.on('msg:custom', this.answer);
  }

  ask(site, layer) {
    this.asked += 1;
    const number = this.asked;
    return new Promise((resolve, reject) => {
      const late = setTimeout(() => { this.waiting.delete(number); reject(new Error('no answer')); }, MOST_SECONDS * 1000);
      this.waiting.set(number, (data) => {
        clearTimeout(late);
        if (data) resolve(bytesIn(data)); else reject(new Error('no such layer'));
      });
      this.model.send({ kind: 'layer', number, site, layer });
    });
  }

  answer({ kind, number }, buffers) {
    if (kind !== 'layer') return;
    this.waiting.get(number)?.(buffers?.[0]);
    this.waiting.delete(number);
  }

  close() { this.model.off('msg:custom', this.answer); }
}

/** The focus of a panel in the form that Python reads. */
function focusOf({ shown, selection }) {
  const { side, items, head, unit, areas, reading, mass, against } = selection;
  return { ...shown, selection: { side, items, head, unit, areas, reading, mass, against } };
}

async function render({ model, el }) {
  const root = pageOf(model, el);
  const channel = new LayerChannel(model);
  const told = model.get('_told');
  const carried = new Map(model.get('_carried').map(({ site, layer, data }) => [`${site}/${layer}`, bytesIn(data)]));
  const messageOf = (site, layer) => messageIn(carried.get(`${site}/${layer}`) ?? channel.ask(site, layer));
  let isOpen = false;
  const known = () => JSON.stringify(model.get('focus'));
  const remember = (panel) => {
    const focus = focusOf(panel);
    if (!isOpen || JSON.stringify(focus) === known()) return;
    model.set('focus', focus);
    model.save_changes();
  };
  const host = { root, link: `widget ${Math.random()}`, messageOf, remember, why: ', and the notebook that made it does not answer' };
  const panels = await openPanels({ ...told, opening: model.get('focus') }, host);
  isOpen = true;
  const follow = () => {
    const focus = model.get('focus');
    const panel = panels.find(({ places }) => places.some(({ site }) => site === focus?.site));
    if (panel && JSON.stringify(focusOf(panel)) !== known()) panel.go(focus);
  };
  model.on('change:focus', follow);
  return () => {
    model.off('change:focus', follow);
    channel.close();
  };
}

export default { render };
