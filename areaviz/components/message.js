// The message a component gets: a header of plain values, and arrays. Layout of the bytes: `pack` in
// areaviz/interactive/message.py.

const ARRAY_KINDS = { 1: Uint8Array, 2: Uint16Array, 4: Uint32Array };

/** The message in `bytes`; one that was read already stays as it is. */
function readMessage(bytes) {
  if (bytes.header) return bytes;
  const size = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + size)));
  const body = bytes.slice(4 + size).buffer;
  const arrays = {};
  for (const [name, [width, offset, count]] of Object.entries(header.arrays)) {
    arrays[name] = new ARRAY_KINDS[width](body, offset, count);
  }
  return { header, arrays };
}
