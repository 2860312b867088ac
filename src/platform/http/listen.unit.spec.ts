import { formatBaseUrl } from './listen.js';

it.each([
  ['0.0.0.0', 'http://localhost:3000'],
  ['::', 'http://localhost:3000'],
  ['::1', 'http://[::1]:3000'],
  ['127.0.0.1', 'http://127.0.0.1:3000'],
  ['api.internal', 'http://api.internal:3000'],
])('a client of this machine reaches a listener on %s at %s', (host, url) => {
  expect(formatBaseUrl(host, 3000)).toBe(url);
});
