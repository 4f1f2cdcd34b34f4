// The message that a component gets: a header of plain values, and arrays. The layout of the bytes
// is that of `serialise_message` in areaviz/views/message.py.

const ARRAY_KINDS = { 1: Uint8Array, 2: Uint16Array, 4: Uint32Array };

/** Return the message in `bytes`. A message that was already read is returned unchanged. */
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
