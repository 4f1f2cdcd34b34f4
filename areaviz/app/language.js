// Tells the browser the language of the page and its direction of reading. Screen readers and line
// breaks depend on them.

function mount({ data }) {
  if (!data) return;
  const root = document.documentElement;
  root.lang = data.language;
  root.dir = data.direction;
}
