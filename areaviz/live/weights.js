// The weights of a network, read from the bytes of its safetensors file.

/** @typedef {{ shape: number[], data: Float32Array }} Tensor */
/** @typedef {{ dtype: string, shape: number[], data_offsets: [number, number] }} Entry */

const HALF_VALUES = 65536;
const METADATA = '__metadata__';

/**
 * Return the values of all half-precision numbers by their bits, as many browsers lack
 * Float16Array.
 */
function halfPrecisionTable() {
  const table = new Float32Array(HALF_VALUES);
  for (let bits = 0; bits < HALF_VALUES; bits += 1) {
    const sign = bits & 0x8000 ? -1 : 1;
    const exponent = (bits >> 10) & 31;
    const fraction = bits & 1023;
    if (exponent === 0) table[bits] = sign * fraction * 2 ** -24;
    else if (exponent === 31) table[bits] = fraction ? NaN : sign * Infinity;
    else table[bits] = sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
  }
  return table;
}

/** The tensors of a safetensors file, in single precision. */
export class Weights {
  /** @param {ArrayBuffer} bytes the file, with tensors in half or single precision */
  constructor(bytes) {
    const size = Number(new DataView(bytes).getBigUint64(0, true));
    const header = new TextDecoder().decode(new Uint8Array(bytes, 8, size));
    /** @type {Record<string, Entry>} */
    const entries = JSON.parse(header);
    const halves = halfPrecisionTable();
    /** @type {Map<string, Tensor>} */
    this.tensors = new Map();
    for (const [name, entry] of Object.entries(entries)) {
      if (name === METADATA) continue;
      const first = 8 + size + entry.data_offsets[0];
      this.tensors.set(name, { shape: entry.shape, data: values(bytes, first, entry, halves) });
    }
  }

  /** @param {string} name */
  has(name) {
    return this.tensors.has(name);
  }

  /**
   * Return a tensor.
   * @param {string} name
   * @returns {Tensor}
   */
  get(name) {
    const found = this.tensors.get(name);
    if (!found) throw new Error(`The file of weights has no tensor "${name}".`);
    return found;
  }

  /**
   * Return the values of a tensor, row by row.
   * @param {string} name
   */
  data(name) {
    return this.get(name).data;
  }
}

/**
 * Return the values of one tensor. All browsers are little-endian, and so is the file.
 * @param {ArrayBuffer} bytes
 * @param {number} first the tensor's first byte
 * @param {Entry} entry
 * @param {Float32Array} halves the table of half-precision numbers
 */
function values(bytes, first, { dtype, shape }, halves) {
  const count = shape.reduce((product, extent) => product * extent, 1);
  if (dtype === 'F32') return new Float32Array(bytes.slice(first, first + 4 * count));
  // Integers are counters of batch normalisation, which only training uses.
  if (dtype === 'I64') return new Float32Array(count);
  if (dtype !== 'F16') throw new Error(`Weights of the type ${dtype} are not supported.`);
  const stored = new Uint16Array(bytes.slice(first, first + 2 * count));
  const found = new Float32Array(count);
  for (let i = 0; i < count; i += 1) found[i] = halves[stored[i]];
  return found;
}
