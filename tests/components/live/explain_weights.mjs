// Explain weights with the engine of live pages in Node. Standard input has the model, a request
// and the questions. Standard output gets one explanation per line.

import { readFileSync } from 'node:fs';

import { whyPayload } from '../../../areaviz/live/payloads.js';
import { modelOf } from '../../../areaviz/live/models.js';

const { card, weights, pieces, request, questions } = JSON.parse(readFileSync(0, 'utf8'));
const bytes = Buffer.from(weights, 'base64');
const model = modelOf(card, bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length), pieces);
if (request.picture) request.picture.pixels = new Uint8Array(Buffer.from(request.picture.pixels, 'base64'));
const trace = model.trace(request);
for (const question of questions) console.log(JSON.stringify(whyPayload(trace, question)));
