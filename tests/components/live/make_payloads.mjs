// Make ribbon payloads of given weights with the browser's code. Standard input has the constants
// and the maps. Standard output gets one payload per line, with arrays as lists.

import { readFileSync } from 'node:fs';

import { AreaGrid } from '../../../areaviz/live/attention.js';
import { looksPayload } from '../../../areaviz/live/answer_payload.js';
import { gridPayload } from '../../../areaviz/live/payloads.js';
import { ribbonPayload } from '../../../areaviz/live/payloads.js';

function numbers(text) {
  const bytes = Buffer.from(text, 'base64');
  return new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
}

for (const { constants, trace, site, layer } of JSON.parse(readFileSync(0, 'utf8'))) {
  for (const map of Object.values(trace.maps)) {
    map.grid = new AreaGrid(...map.grid);
    map.weights = numbers(map.weights);
  }
  for (const gaze of Object.values(trace.gazes)) gaze.corners = Float32Array.from(gaze.corners);
  const make = site in trace.gazes ? looksPayload
    : trace.fields[trace.maps[site].memory].kind === 'picture' ? gridPayload : ribbonPayload;
  const { header, arrays } = make(trace, site, layer, constants);
  const plain = Object.entries(arrays).map(([name, values]) => (
    [name, { bytes: values.BYTES_PER_ELEMENT, values: [...values] }]));
  console.log(JSON.stringify({ header, arrays: Object.fromEntries(plain) }));
}
