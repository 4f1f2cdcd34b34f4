// The texts of a component in the reader's language. Before this file, `read_parts`
// (areaviz/views/parts.py) writes three constants: `TEXTS`, the translations by their English texts
// (none for English), `LANGUAGE`, and `DECIMAL`, its decimal mark.

/** A text of the catalogue (areaviz/texts) in the reader's language, with the values of its placeholders. */
function sentence(english, values = {}) {
  return (TEXTS[english] ?? english).replaceAll(/\{(\w+)\}/g, (_, name) => values[name]);
}

/** A number with some digits after its decimal mark. */
function decimal(value, digits) { return value.toFixed(digits).replace('.', DECIMAL); }
