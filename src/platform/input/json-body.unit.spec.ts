import type { Account } from '../http/account.js';
import { parseJsonBody } from './json-body.js';
import { ValidationContext } from './validation-context.js';

describe('parseJsonBody', () => {
  // Fails on Node 24 with `JSON.parse` (see parse-json.ts).
  it('reads the names of a body, not those of an equal one before it', () => {
    const read = (name: string) => {
      const { members: body } = parseJsonBody(Buffer.from(`{"filters":{"field":0,"${name}":0}}`));
      return new ValidationContext([], { path: new Map(), query: new Map(), body }, {} as Account).body();
    };
    const [first, second] = [read('\\\\'), read('\\n')];
    expect(first).toEqual({ filters: { field: 0, '\\': 0 } });
    expect(second).toEqual({ filters: { field: 0, '\n': 0 } });
  });
});
