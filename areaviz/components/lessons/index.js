// All questions. An address of an old lesson names it after "#", which only the browser knows, so it is followed here.

function mount({ data, parentElement }) {
  const root = parentElement.querySelector('.index');
  if (!root || !data) return;
  const old = data.old[location.hash.slice(1)];
  if (old && !root.dataset.ready) {
    root.dataset.ready = '';
    location.replace(old);
    return;
  }
  const link = (label, href, kind = '') => Object.assign(document.createElement('a'), { textContent: label, href, className: kind });
  root.querySelector('.intro').textContent = data.texts.intro;
  root.querySelector('.papers').textContent = data.texts.papers;
  root.querySelector('.ways').replaceChildren(link(data.texts.start, data.questions[0].href, 'main'));
  root.querySelector('.list').replaceChildren(...data.questions.map(({ title, href }) => {
    const item = document.createElement('li');
    item.append(link(title, href));
    return item;
  }));
  root.dataset.ready = '';
}
