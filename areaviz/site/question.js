// A question of the site's lessons. Whether its answer and its explanation are shown is part of the address, as in the app.

document.getElementById('without-script')?.remove();
const data = JSON.parse(document.getElementById('question').textContent);
mounts.lesson({ data, parentElement: document.querySelector('.stage').shadowRoot });
