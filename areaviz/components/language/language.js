// Tells the browser in which language the page is written, and from which side it is read. Screen readers and line breaks
// follow that.

function mount({ data }) {
  if (!data) return;
  const root = document.documentElement;
  root.lang = data.language;
  root.dir = data.direction;
}
