// A question of the site's lessons. Whether its answer and its explanation are shown is part of the address, as in the app.

document.getElementById('without-script')?.remove();
const data = JSON.parse(document.getElementById('question').textContent);
const { searchParams } = new URL(location.href);
data.isDeep = searchParams.get('deep') === '1';
data.shown = data.isDeep || searchParams.get('shown') === '1';
mounts.lesson({ data, parentElement: document.querySelector('.stage').shadowRoot });
