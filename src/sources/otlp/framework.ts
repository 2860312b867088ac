import { truncate } from '../../records/text.js';
import { Attributes } from './attributes.js';
import type { Resource } from './generated/opentelemetry/proto/resource/v1/resource_pb.js';

const MAX_FRAMEWORK = 64;

/**
 * Frameworks by a word in the names of their instrumentations. If an application has several, the outermost
 * comes first here.
 */
const WORDS: readonly (readonly [word: RegExp, framework: string])[] = [
  [/\bnest(?:js)?\b/, 'nestjs'],
  [/\bnext\.js\b/, 'nextjs'],
  [/\bfastify\b/, 'fastify'],
  [/\bhono\b/, 'hono'],
  [/\bkoa\b/, 'koa'],
  [/\bhapi\b/, 'hapi'],
  [/\bexpress\b/, 'express'],
  [/\bfastapi\b/, 'fastapi'],
  [/\bflask\b/, 'flask'],
  [/\bdjango\b/, 'django'],
  [/\blitestar\b/, 'litestar'],
  [/\bstarlette\b/, 'starlette'],
  [/\btornado\b/, 'tornado'],
  [/\baiohttp_server\b/, 'aiohttp'],
  [/\bspring(?:framework)?\b/, 'spring'],
  [/\bgin\b|\botelgin\b/, 'gin'],
  [/\becho\b|\botelecho\b/, 'echo'],
  [/\bfiber\b|\botelfiber\b/, 'fiber'],
  [/\bchi\b|\botelchi\b/, 'chi'],
  [/\baspnetcore\b/, 'aspnetcore'],
  [/\brails\b/, 'rails'],
  [/\blaravel\b/, 'laravel'],
  [/\bsymfony\b/, 'symfony'],
  [/\botelmux\b/, 'mux'],
  [/\botelhttp\b/, 'net/http'],
];

/** The framework of an application, from its resource or its instrumentations; null if it is unknown. */
export function findFramework(resource: Resource | undefined, scopes: readonly string[]): string | null {
  const attributes = new Attributes(resource?.attributes ?? []);
  const named = attributes.findText('webengine.name') ?? '';
  if (named !== '') return truncate(named, MAX_FRAMEWORK);
  const texts = [attributes.findText('telemetry.distro.name') ?? '', ...scopes].map((text) =>
    text.toLowerCase(),
  );
  for (const [word, framework] of WORDS) if (texts.some((text) => word.test(text))) return framework;
  return null;
}
