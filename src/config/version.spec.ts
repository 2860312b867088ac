import { readFileSync } from 'node:fs';
import { PRODUCT_VERSION } from './version.js';

it.each(['package.json', 'package-lock.json'])('is the version of %s', (file) => {
  const { version } = JSON.parse(readFileSync(file, 'utf8')) as { version: string };
  expect(PRODUCT_VERSION).toBe(version);
});
