// Bytes from base64.

/**
 * Return the bytes of a text in base64.
 * @param {string} text
 * @returns {ArrayBuffer}
 */
export function decodeBase64(text) {
  const letters = atob(text);
  const bytes = new Uint8Array(letters.length);
  for (let i = 0; i < letters.length; i += 1) bytes[i] = letters.charCodeAt(i);
  return bytes.buffer;
}
