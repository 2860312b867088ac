import fc from 'fast-check';
import {
  and,
  consumerIs,
  endpointPathMatches,
  envIs,
  methodIn,
  notExcluded,
  parseMethods,
  parseStatuses,
  pathMatches,
  statusIn,
} from './predicates.js';

describe('and', () => {
  it('puts each condition behind an AND, and leaves out those that are not there', () => {
    expect(and(undefined, { sql: 'a', params: { x: 1 } }, undefined, { sql: 'b', params: { y: 2 } })).toEqual(
      {
        sql: '\n  AND a\n  AND b',
        params: { x: 1, y: 2 },
      },
    );
  });

  it('is empty without conditions', () => {
    expect(and(undefined)).toEqual({ sql: '', params: {} });
  });
});

describe('every predicate', () => {
  const PLACEHOLDER = /\{([a-z_]+):[A-Za-z0-9()]+\}/g;

  it('has no value in its text, and a value for each placeholder but the app', () => {
    const text = fc.string({ unit: 'binary', minLength: 1, maxLength: 20 });
    const statuses = fc.array(fc.constantFrom('200', '404', '2xx', '5xx'), { minLength: 1, maxLength: 4 });
    const ids = fc.array(fc.nat(), { minLength: 1 });
    fc.assert(
      fc.property(fc.nat(), text, statuses, ids, (id, words, status, excluded) => {
        const all = [
          envIs(id),
          consumerIs(id),
          methodIn(words),
          pathMatches(words),
          endpointPathMatches(words),
          statusIn(status.join()),
          notExcluded(excluded),
        ];
        for (const predicate of all.filter((candidate) => candidate !== undefined)) {
          expect(predicate.sql).toMatch(/^[A-Za-z0-9_ (){}:=,]+$/);
          const named = Array.from(predicate.sql.matchAll(PLACEHOLDER), ([, name]) => name);
          for (const name of named.filter((column) => column !== 'app_id'))
            expect(Object.keys(predicate.params)).toContain(name);
        }
      }),
    );
  });

  it('is left out where nothing is filtered', () => {
    const none = [envIs, consumerIs, methodIn, pathMatches, endpointPathMatches, statusIn];
    expect(none.map((predicate) => predicate(undefined))).toEqual(none.map(() => undefined));
    expect(notExcluded([])).toBeUndefined();
    expect(methodIn(' ,, ')).toBeUndefined();
  });
});

describe('methodsOf', () => {
  it.each([
    [undefined, []],
    ['', []],
    ['get', ['GET']],
    [' post , GET,get,, ', ['GET', 'POST']],
    ['G ET', ['G ET']],
  ])('of %j are %j', (method, expected) => {
    expect(parseMethods(method)).toEqual(expected);
  });
});

describe('parseStatuses', () => {
  it.each([
    [undefined, [], []],
    ['404', [404], []],
    ['4xx', [], [4]],
    ['5xx,404,2xx,404,200', [200, 404], [2, 5]],
    ['000,0xx', [0], [0]],
  ])('of %j are %j and the classes %j', (status, codes, classes) => {
    expect(parseStatuses(status)).toEqual({ codes, classes });
  });
});

describe('pathMatches', () => {
  it.each([
    ['/a', { path: '/a' }],
    ['/a%_\\', { path: '/a%_\\' }],
    ['/a/*', { path_like: '/a/%' }],
    ['*%_\\*', { path_like: '%\\%\\_\\\\%' }],
    ['/***/', { path_like: '/%/' }],
  ])('binds %j as %j', (path, params) => {
    expect(pathMatches(path)?.params).toEqual(params);
  });
});
