// Runs in a notebook, around the frame of a page (areaviz/page/notebook.py). It shows the frame in
// place of the static picture and its numbers, and gives it the height of its page. `name` is the
// class of the box around them. [least, most] limit the height, in px.
function fitFrames(name, fits, [least, most]) {
  for (const box of document.querySelectorAll(`.${name}`)) {
    const frame = box.querySelector('iframe');
    for (const other of box.querySelectorAll('img, .areaviz-numbers')) other.style.display = 'none';
    if (!fits) continue;
    window.addEventListener('message', ({ source, data }) => {
      if (source !== frame.contentWindow || !Number.isFinite(data?.areaviz)) return;
      frame.style.height = `${Math.min(Math.max(data.areaviz, least), most)}px`;
    });
  }
}
