// Print which of some names are already defined in every JavaScript environment.

import { readFileSync } from 'node:fs';

const names = JSON.parse(readFileSync(0, 'utf8'));
console.log(JSON.stringify(names.filter((name) => name in globalThis)));
