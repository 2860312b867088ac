import { watchOutput } from './output.js';
import { createProgram } from './program.js';
import { runProgram } from './run-program.js';

watchOutput();
await runProgram(createProgram());
