// Calls functions for test_arithmetic.py. Standard input has a list of [name of a function,
// arguments]. Prints one result per line.

import { readFileSync } from 'node:fs';
import * as window from '../../../areaviz/learn/arithmetic.js';
import * as arithmetic from '../../../areaviz/learn/arithmetic.js';

for (const [name, args] of JSON.parse(readFileSync(0, 'utf8'))) {
  if (name === 'variance') console.log(JSON.stringify(arithmetic.varianceOf(arithmetic.choiceOf(args[0], args[1]), args[2], args[3])));
  else console.log(JSON.stringify((arithmetic[name] ?? window[name])(...args)));
}
