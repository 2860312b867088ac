import { finish } from '../../shared/async/slices.js';
import { listOperations } from './api-document.js';

const list = (document: object) => finish(listOperations(document as Readonly<Record<string, unknown>>));
const names = (document: object) =>
  list(document).map(({ method, path, operation }) => `${method} ${path} ${operation?.bases.join()}`);
const get = { get: {} };

describe('the operations of a document', () => {
  it('have what it says of them', () => {
    const operation = {
      operationId: 'getUser',
      summary: 'Get a user',
      tags: ['users', 7, 'people'],
      deprecated: true,
      'x-sunset': '2027-06-30',
    };
    expect(list({ openapi: '3.1.0', paths: { '/users/{id}': { get: operation, parameters: [] } } })).toEqual([
      {
        method: 'GET',
        path: '/users/{id}',
        summary: 'Get a user',
        operation: {
          bases: [''],
          operation_id: 'getUser',
          tags: ['users', 'people'],
          deprecated: true,
          sunset: '2027-06-30T00:00:00.000Z',
        },
      },
    ]);
  });

  it('have all methods, also those of OpenAPI 3.2', () => {
    const item = { get: {}, delete: {}, query: {}, additionalOperations: { COPY: {} } };
    expect(names({ paths: { '/a': item } })).toEqual(['GET /a ', 'DELETE /a ', 'QUERY /a ', 'COPY /a ']);
  });

  it.each([
    ['a URL', [{ url: 'https://api.example.com/v1/' }], '/v1'],
    ['a path', [{ url: '/v1' }], '/v1'],
    ['a relative path', [{ url: 'v1' }], '/v1'],
    ['a root', [{ url: 'https://api.example.com' }], ''],
    [
      'variables',
      [
        {
          url: '{scheme}://{host}/{version}',
          variables: {
            scheme: { default: 'https' },
            host: { default: 'example.com' },
            version: { default: 'v2' },
          },
        },
      ],
      '/v2',
    ],
    ['several', [{ url: '/v1' }, { url: 'https://x/v2' }, { url: '/v1/' }], '/v1,/v2'],
    ['none', [], ''],
    ['wrong types', [7, { url: [] }, null], ''],
    ['an object', { url: '/v1' }, ''],
  ])('are below the paths of servers: %s', (_, servers, bases) => {
    expect(names({ servers, paths: { '/a': get } })).toEqual([`GET /a ${bases}`]);
  });

  it('are below the base path of Swagger 2.0, and the servers of their path or their own', () => {
    expect(names({ swagger: '2.0', basePath: '/v1/', paths: { '/a': get } })).toEqual(['GET /a /v1']);
    const item = { servers: [{ url: '/b' }], get: {}, post: { servers: [{ url: '/c' }] } };
    expect(names({ servers: [{ url: '/v1' }], paths: { '/a': item } })).toEqual(['GET /a /b', 'POST /a /c']);
  });

  it('are found behind references to path items, and what stands beside a reference', () => {
    const document = {
      paths: { '/a': { $ref: '#/components/pathItems/~0x~1y', put: {} }, '/b': { $ref: '#/paths/~1a' } },
      components: { pathItems: { '~x/y': get } },
    };
    expect(names(document)).toEqual(['GET /a ', 'PUT /a ', 'GET /b ', 'PUT /b ']);
  });

  it.each([
    ['a circle of references', { '/a': { $ref: '#/paths/~1b' }, '/b': { $ref: '#/paths/~1a' } }],
    ['a reference to itself', { '/a': { $ref: '#/paths/~1a' } }],
    ['a reference to the document', { '/a': { $ref: '#/' } }],
    ['references into other files', { '/a': { $ref: 'a.yaml#/x' }, '/b': { $ref: 'https://x/y' } }],
    ['references to nothing', { '/a': { $ref: '#/constructor/prototype' }, '/b': { $ref: '' } }],
    ['wrong types', { '/a': 7, '/b': [get], '/c': { get: 7, post: null, put: [] }, d: get }],
    ['a list', [get]],
    ['a text', 'paths'],
    ['extensions', { 'x-paths': get }],
  ])('are none in %s', (_, paths) => {
    expect(list({ paths })).toEqual([]);
  });

  it('have texts that are cut and can be stored', () => {
    const [route] = list({
      paths: {
        '/a': { get: { summary: 'x'.repeat(5_000), operationId: 'a\0\uD800', tags: Array(100).fill('t') } },
      },
    });
    expect(route!.summary).toHaveLength(256);
    expect(route!.operation).toMatchObject({ operation_id: 'a\uFFFD\uFFFD' });
    expect(route!.operation!.tags).toHaveLength(20);
  });

  it.each([
    ['paths', Object.fromEntries(Array.from({ length: 100_000 }, (_, n) => [`/p${n}`, get]))],
    [
      'long texts behind references',
      {
        '/x': { get: { summary: 's'.repeat(256), tags: Array(20).fill('t'.repeat(256)) } },
        ...Object.fromEntries(Array.from({ length: 9_000 }, (_, n) => [`/p${n}`, { $ref: '#/paths/~1x' }])),
      },
    ],
  ])('are limited: many %s', (_, paths) => {
    expect(() => list({ paths })).toThrow('openapi: must have at most 10000 operations');
  });
});
