import { writeFileSync } from 'node:fs';
import { licencesText } from './licences.js';

writeFileSync('docs/licences.md', licencesText());
