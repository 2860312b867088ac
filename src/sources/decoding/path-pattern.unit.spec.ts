import fc from 'fast-check';
import { MAX_PATH } from '../../records/operation.js';
import { extractPathname, inferPathPattern, normalizeRoutePattern } from './path-pattern.js';

const anyText = fc.string({ unit: 'binary', maxLength: 2 * MAX_PATH });

describe('extractPathname', () => {
  it.each([
    ['/', '/'],
    ['/a/b', '/a/b'],
    ['/a/b?c=/d', '/a/b'],
    ['/a#b?c', '/a'],
    ['https://api.example.com/a/b?c=d', '/a/b'],
    ['HTTP://api.example.com:8080/a', '/a'],
    ['https://api.example.com', '/'],
    ['https://api.example.com?a=b', '/'],
    ['https://user:secret@[2001:db8::1]:80/a', '/a'],
    ['//favicon.ico', '//favicon.ico'],
    ['/http://elsewhere.example/a', '/http://elsewhere.example/a'],
    ['*', '*'],
    ['', '/'],
    ['?a=b', '/'],
    ['a/b', '/a/b'],
    ['/%zz', '/%zz'],
    ['/a b', '/a b'],
  ])('reads the path of %p as %p', (url, path) => {
    expect(extractPathname(url)).toBe(path);
  });
});

describe('inferPathPattern', () => {
  it.each([
    ['numbers', '/users/7/orders/0042', '/users/{id}/orders/{id}'],
    ['UUIDs', '/users/63D524d0-e69c-47aa-818c-ab3ada75b277', '/users/{id}'],
    ['16 hex digits', '/spans/00f067aa0ba902b7/', '/spans/{id}/'],
    ['object IDs', '/docs/507f1f77bcf86cd799439011/x', '/docs/{id}/x'],
    ['digests', '/blobs/DA39A3EE5E6B4B0D3255BFEF95601890AFD80709', '/blobs/{id}'],
    ['each of several', 'https://api.example.com/1/2/3?4', '/{id}/{id}/{id}'],
  ])('generalizes %s', (_, url, pattern) => {
    expect(inferPathPattern(url)).toBe(pattern);
  });

  it.each([
    '/',
    '/users/me',
    '/v1/users',
    '/users/7a',
    '/users/-1',
    '/users/1.5',
    '/files/2015.pdf',
    '/a.json',
    '/js',
    '/a.js/b',
    '/a.jsp',
    '/spans/00f067aa0ba902b',
    '/words/facade',
    '/spans/00f067aa0ba902bz',
    '/users/63d524d0-e69c-47aa-818c-ab3ada75b27',
    '/%zz/%2F',
    '//',
    '*',
  ])('keeps %s', (path) => {
    expect(inferPathPattern(path)).toBe(path);
  });

  it.each([
    ['/assets/index-01c112.js', '/*.js'],
    ['/assets/app.3f2a.css?v=7', '/*.css'],
    ['https://cdn.example.com/a/b.min.mjs#x', '/*.mjs'],
    ['/app.js.map', '/*.map'],
    ['/uploads/2026/11/IMG_0042.JPG', '/*.jpg'],
    ['/fonts/a.woff2', '/*.woff2'],
    ['/video/seg-00001.ts', '/*.ts'],
    ['/dump.tar.gz', '/*.gz'],
    ['/favicon.ico', '/*.ico'],
    ['/a.js;jsessionid=7', '/*.js'],
  ])('makes of %s the pattern %s', (url, pattern) => {
    expect(inferPathPattern(url)).toBe(pattern);
  });

  it('keeps at most 1,024 code points, never half a character', () => {
    expect(inferPathPattern(`/${'💥'.repeat(2000)}`)).toBe(`/${'💥'.repeat(MAX_PATH - 1)}`);
  });

  it('makes a bounded, well-formed pattern of any text, and of that pattern the same again', () => {
    fc.assert(
      fc.property(anyText, (url) => {
        const pattern = inferPathPattern(url);
        expect(pattern === '*' || pattern.startsWith('/')).toBe(true);
        expect(Array.from(pattern).length).toBeLessThanOrEqual(MAX_PATH);
        expect(pattern.isWellFormed()).toBe(true);
        expect(inferPathPattern(pattern)).toBe(pattern);
      }),
    );
  });
});

describe('normalizeRoutePattern', () => {
  it.each([
    ['Express', '/users/:id', '/users/{id}'],
    ['Express', '/users/:userId/orders/:order_id', '/users/{userId}/orders/{order_id}'],
    ['Express', '/users/:id(\\d+)', '/users/{id}'],
    ['Express', '/users/:id(\\d+(?:-\\d+)?)/x', '/users/{id}/x'],
    ['Express', '/users/:id?', '/users/{id}'],
    ['Express', '/files/:path*', '/files/{path}'],
    ['Express', '/files/:path+', '/files/{path}'],
    ['Express', '/flights/:from-:to', '/flights/{from}-{to}'],
    ['Express', '/plantae/:genus.:species', '/plantae/{genus}.{species}'],
    ['Express 5', '/users{/:id}', '/users/{id}'],
    ['Express 5', '/files/:file{.:ext}', '/files/{file}.{ext}'],
    ['Express 5', '/files/:file{.json}', '/files/{file}{.json}'],
    ['Express 5', '/files/*splat', '/files/*splat'],
    ['Hono', '/posts/:date{[0-9]{4}-[0-9]{2}}/:title{[a-z]+}', '/posts/{date}/{title}'],
    ['Fastify', '/example/:file(^\\d+).png', '/example/{file}.png'],
    ['Rails', '/users/:id(.:format)', '/users/{id}'],
    ['Flask', '/users/<id>', '/users/{id}'],
    ['Flask', '/users/<int:id>', '/users/{id}'],
    ['Flask', '/users/<string(length=2):lang>/x', '/users/{lang}/x'],
    ['Django', 'articles/<slug:title>/', 'articles/{title}/'],
    ['Django', '/articles/(?P<year>[0-9]{4})/(?P<slug>[\\w-]+(?:/x)?)/', '/articles/{year}/{slug}/'],
    ['Django', '/comments/(?:page-(?P<page>\\d+)/)?', '/comments/page-{page}/'],
    ['Django', '/users/(?P<id>\\d+)?', '/users/{id}'],
    ['Django', '/x/(?:(?P<a>y)|z)/(?:json|xml)', '/x/(?:(?P<a>y)|z)/(?:json|xml)'],
    ['Kong', '/users/(?<id>\\d+)', '/users/{id}'],
    ['Next.js', '/users/[id]', '/users/{id}'],
    ['Next.js', '/docs/[...slug]', '/docs/{slug}'],
    ['Next.js', '/docs/[[...slug]]', '/docs/{slug}'],
    ['SvelteKit', '/users/[id=integer]', '/users/{id}'],
    ['ASP.NET', '/users/{id:int}', '/users/{id}'],
    ['ASP.NET', '/users/{id:int:min(1)}', '/users/{id}'],
    ['ASP.NET', '/users/{id?}', '/users/{id}'],
    ['ASP.NET', '/users/{id=1}', '/users/{id}'],
    ['ASP.NET', '/files/{**path}', '/files/{path}'],
    ['Spring', '/users/{id:[a-z]{2}[0-9]+}/x', '/users/{id}/x'],
    ['FastAPI', '/files/{file_path:path}', '/files/{file_path}'],
    ['OpenAPI', '/v1/users/{user-id}', '/v1/users/{user-id}'],
    ['Google', '/v1/{name}:cancel', '/v1/{name}:cancel'],
    ['Google', '/v1/users:batchGet', '/v1/users:batchGet'],
    ['no parameters', '/v1/users/', '/v1/users/'],
    ['a wildcard', '/static/*', '/static/*'],
    ['a wildcard', '/static/**', '/static/**'],
    ['a wildcard', '*', '*'],
    ['a time', '/at/10:30', '/at/10:30'],
    ['open brackets', '/a{b/[c/<d/:/e((?P<f', '/a{b/[c/<d/:/e((?P<f'],
    ['nothing', '', ''],
  ])('writes the path of %s, %s, as %s', (_, path, expected) => {
    expect(normalizeRoutePattern(path)).toBe(expected);
  });

  it('leaves a path in braces as it is, so that what the API gives can be imported', () => {
    const name = fc.stringMatching(/^[A-Za-z_]\w{0,8}$/);
    const literal = fc.stringMatching(/^[\w.~%*-]{1,8}$/);
    const segment = fc.oneof(
      name.map((text) => `{${text}}`),
      literal,
    );
    fc.assert(
      fc.property(fc.array(segment), (segments) => {
        const path = `/${segments.join('/')}`;
        expect(normalizeRoutePattern(path)).toBe(path);
      }),
    );
  });

  it('makes bounded, well-formed text of any text', () => {
    const route = fc.string({
      unit: fc.constantFrom(...Array.from('/:{}<>[]()?*+\\.a1=-^💥\0\uD800')),
      maxLength: 2 * MAX_PATH,
    });
    fc.assert(
      fc.property(fc.oneof(route, anyText), (path) => {
        const braced = normalizeRoutePattern(path);
        expect(Array.from(braced).length).toBeLessThanOrEqual(MAX_PATH);
        expect(braced.isWellFormed()).toBe(true);
        expect(braced).not.toContain('\0');
      }),
    );
  });

  it.each(['{', '[', '<', '(?P<a>', '(?:', ':a(', ':a{', '{/', '\\', ':{/:'])(
    'takes a million of %p in good time',
    (piece) => {
      expect(Array.from(normalizeRoutePattern(piece.repeat(1_000_000))).length).toBeLessThanOrEqual(MAX_PATH);
    },
  );
});
