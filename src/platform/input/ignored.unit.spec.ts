import fc from 'fast-check';
import { describeIgnored } from './ignored.js';
import type { Parameter } from './parameters.js';

const of = (place: Parameter['in'], ...names: string[]): Parameter[] =>
  names.map((name) => ({ in: place, name, description: '' }));
const GET = [
  ...of('path', 'app_id'),
  ...of(
    'query',
    'app_env_id',
    'consumer_id',
    'status_code',
    'start',
    'end',
    'timezone',
    'limit',
    'next_token',
  ),
  { in: 'query', name: 'interval', description: '', older: { name: 'intervals', words: {} } } as const,
];
const POST = of('body', 'since', 'until', 'metrics', 'group_by', 'filters', 'interval', 'limit', 'after');

describe('describeIgnored', () => {
  it('is undefined where each parameter is known, also by its older name', () => {
    expect(describeIgnored(GET, ['start', 'limit', 'intervals'])).toBeUndefined();
    expect(describeIgnored(POST, [], ['since', 'metrics'])).toBeUndefined();
  });

  it.each([
    ['since', 'since (did you mean start?)'],
    ['Until', 'Until (did you mean end?)'],
    ['env', 'env (did you mean app_env_id?)'],
    ['consumer', 'consumer (did you mean consumer_id?)'],
    ['status', 'status (did you mean status_code?)'],
    ['timezon', 'timezon (did you mean timezone?)'],
    ['nextToken', 'nextToken (did you mean next_token?)'],
    ['app_id', 'app_id (did you mean app_env_id?)'],
    ['cache_buster', 'cache_buster'],
    ['_', '_'],
    ['t', 't'],
  ])('names %s of a GET', (name, described) => {
    expect(describeIgnored(GET, [name])).toBe(described);
  });

  it.each([
    ['start', 'start (did you mean since?)'],
    ['end', 'end (did you mean until?)'],
    ['groupby', 'groupby (did you mean group_by?)'],
    ['metric', 'metric (did you mean metrics?)'],
    ['env', 'env (did you mean filters?)'],
    ['path', 'path (did you mean filters?)'],
    ['next_token', 'next_token (did you mean after?)'],
  ])('names %s of a body', (name, described) => {
    expect(describeIgnored(POST, [], [name])).toBe(described);
  });

  it('says where a parameter belongs that came in the query of a POST', () => {
    expect(describeIgnored(POST, ['interval', 'start'])).toBe(
      'interval (send it in the body), start (did you mean since?)',
    );
  });

  it('names ten and counts the others', () => {
    const names = Array.from({ length: 1_000 }, (_, index) => `xyzxyz${index}`);
    expect(describeIgnored(GET, names)).toBe(`${names.slice(0, 10).join(', ')}, 990 more`);
  });

  it('names a parameter without a name', () => {
    expect(describeIgnored(GET, [''])).toBe('(empty)');
  });

  it('shows neither a key nor a token that came as a name', () => {
    const key = `Abc1234.${'s'.repeat(32)}`;
    const token = `apt_Abc12345${'s'.repeat(16)}`;
    expect(describeIgnored(GET, [key, token])).toBe('Abc1234...., apt_Abc1...');
  });

  it('fits into a header, whatever the names are, without delay', () => {
    fc.assert(
      fc.property(
        fc.array(fc.oneof(fc.string({ unit: 'binary' }), fc.string({ minLength: 5_000, maxLength: 20_000 }))),
        (names) => {
          for (const text of [describeIgnored(GET, names), describeIgnored(POST, names, names)])
            if (text !== undefined) {
              expect(text).toMatch(/^[ -~]+$/);
              expect(text.length).toBeLessThan(1_024);
            }
        },
      ),
    );
  });
});
