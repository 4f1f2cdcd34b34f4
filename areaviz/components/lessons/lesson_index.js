// All questions in a list.

/** Draw the list into its section. `address` completes a link. */
function drawLessonIndex(root, { questions, texts }, address) {
  const link = (label, to, kind = '') => Object.assign(lessonNode('a', kind, label), { href: address(to) });
  root.querySelector('.intro').textContent = texts.intro;
  root.querySelector('.papers').textContent = texts.papers;
  root.querySelector('.ways').replaceChildren(link(texts.start, questions[0].href, 'main'));
  root.querySelector('.list').replaceChildren(...questions.map(({ title, href }) => {
    const item = lessonNode('li', '');
    item.append(link(title, href));
    return item;
  }));
  root.dataset.ready = '';
}
