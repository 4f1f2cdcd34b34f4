// Opens the page in the reader's language, which is that of the address, else the earlier choice,
// else that of the browser. Pages in only one language have no link to another language and stay
// open.

const asked = new URL(location.href).searchParams.get('lang');
let chosen = asked;
try {
  if (asked) sessionStorage.setItem('areaviz-language', asked);
  chosen ??= sessionStorage.getItem('areaviz-language');
} catch { /* A browser may forbid to store anything. */ }
chosen ??= navigator.language.slice(0, 2);
const other = [...document.querySelectorAll('nav a[hreflang]')].find((link) => link.hreflang === chosen);
if (other) {
  const address = new URL(other.href);
  for (const [name, value] of new URL(location.href).searchParams) address.searchParams.set(name, value);
  address.searchParams.set('lang', chosen);
  location.replace(address);
}
