// Cut texts into tokens with the browser's tokenizer: one list of [id, start, end] per line.

import { readFileSync } from 'node:fs';

import { Tokenizer } from '../../../areaviz/live/tokenizer.js';

const { pieces, texts } = JSON.parse(readFileSync(0, 'utf8'));
const tokenizer = new Tokenizer(pieces);
for (const text of texts) {
  console.log(JSON.stringify(tokenizer.tokens(text).map(({ id, start, end }) => [id, start, end])));
}
