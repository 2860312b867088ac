import { METHOD_METADATA } from '@nestjs/common/constants.js';
import { ModulesContainer, Reflector } from '@nestjs/core';
import type { Application } from 'express';
import { PUBLIC } from '../../src/platform/http/public.decorator.js';
import { TestApp } from '../setup/app.js';
import { REQUIRED_HEADERS, detail, seen } from '../setup/contract.js';
import { sendRaw } from '../setup/raw-http.js';

/** All routes without a key. A route in this list is public. */
const PUBLIC_HANDLERS = [
  'FallbackController.open',
  'HealthController.live',
  'HealthController.ready',
  'LlmsController.get',
];
const PUBLIC_PATHS = [
  '/',
  '/assets/:file',
  '/docs',
  '/docs/',
  '/docs/LICENSE',
  '/docs/docs/swagger-ui-init.js',
  '/docs/index.html',
  '/docs/swagger-ui-init.js',
  '/health/live',
  '/health/ready',
  '/llms.txt',
  '/openapi.json',
  '/{*path}',
];

type Handler = (...args: unknown[]) => unknown;

let app: TestApp;
beforeAll(async () => {
  app = await TestApp.start();
});
afterAll(async () => {
  await app.stop();
});

/** Every handler of every controller: its name, and whether it carries `@Public()`. */
function handlers() {
  const modules = [...app.app.get(ModulesContainer).values()];
  const controllers = modules.flatMap(({ controllers }) => [...controllers.values()]);
  const reflector = app.app.get(Reflector);
  return controllers.flatMap(({ metatype }) => {
    const prototype = (metatype as { prototype: Record<string, Handler> }).prototype;
    return Object.getOwnPropertyNames(prototype)
      .filter((name) => Reflect.hasMetadata(METHOD_METADATA, prototype[name]!))
      .map((name) => ({
        name: `${metatype!.name}.${name}`,
        isPublic: reflector.getAllAndOverride<boolean>(PUBLIC, [prototype[name]!, metatype!]),
      }));
  });
}

it('only these handlers are @Public()', () => {
  const all = handlers();
  expect(
    all
      .filter(({ isPublic }) => isPublic)
      .map(({ name }) => name)
      .sort(),
  ).toEqual(PUBLIC_HANDLERS);
  expect(all.length).toBeGreaterThan(PUBLIC_HANDLERS.length + 6);
});

it('every other route of the server needs a key', async () => {
  const { router } = app.app.getHttpAdapter().getInstance() as Application;
  const paths = new Set(router.stack.flatMap(({ route }) => (route ? [route.path] : [])));
  const isGuarded = (path: string) => path.startsWith('/v1') || path === '/mcp';
  expect([...paths].filter((path) => !isGuarded(path)).sort()).toEqual(PUBLIC_PATHS);
  expect((await sendRaw(app.url, '/mcp', { method: 'POST' })).status).toBe(401);
  for (const path of [...paths].filter((path) => path.startsWith('/v1'))) {
    const example = path.replaceAll(/:\w+/g, '1').replace('{*path}', 'x');
    for (const method of ['GET', 'POST'])
      expect([example, (await sendRaw(app.url, example, { method })).status]).toEqual([example, 401]);
  }
});

it('with DOCS=off and DASHBOARD=off neither the document nor a page is served, and / leads to none', async () => {
  await app.stop();
  app = await TestApp.start({ DOCS: 'off', DASHBOARD: 'off' });
  for (const path of ['/', '/docs', '/docs/', '/docs/swagger-ui.css', '/openapi.json'])
    expect([path, seen(await sendRaw(app.url, path))]).toEqual([
      path,
      { status: 404, text: detail('Not Found'), headers: REQUIRED_HEADERS },
    ]);
});
