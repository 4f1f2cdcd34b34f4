// Run requests through the engine of live pages in Node. Standard input has the model and its
// requests. Standard output gets one trace document per line, with arrays in base64, or {"error":
// ...}.

import { readFileSync } from 'node:fs';

import { traceDocument } from '../../../areaviz/live/trace_document.js';
import { modelOf } from '../../../areaviz/live/models.js';

function written({ shape, data }) {
  const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  return { shape, kind: data.constructor.name, data: bytes.toString('base64') };
}

const { card, weights, pieces, requests } = JSON.parse(readFileSync(0, 'utf8'));
const bytes = Buffer.from(weights, 'base64');
const model = modelOf(card, bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length), pieces);
for (const request of requests) {
  if (request.picture) request.picture.pixels = new Uint8Array(Buffer.from(request.picture.pixels, 'base64'));
  let answer;
  const since = process.cpuUsage();
  try {
    answer = traceDocument(model.trace(request));
    const arrays = Object.entries(answer.arrays).map(([name, array]) => [name, written(array)]);
    answer.arrays = Object.fromEntries(arrays);
    answer.milliseconds = process.cpuUsage(since).user / 1000;
  } catch (error) {
    answer = { error: error.message };
  }
  console.log(JSON.stringify(answer));
}
