/** Writes docs/cli.md; a test compares it with the program. */
import { writeFileSync } from 'node:fs';
import { renderCliDocument } from './cli-document.js';

writeFileSync('docs/cli.md', renderCliDocument());
