import { readFileSync } from 'node:fs';
import { PRODUCT_VERSION } from './version.js';

it('is the version of package.json', () => {
  const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
  expect(PRODUCT_VERSION).toBe(version);
});
