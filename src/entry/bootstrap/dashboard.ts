import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { Application, NextFunction, Request, Response } from 'express';
import type { Logger } from 'pino';
import type { Config } from '../../config/config.js';
import { PACKAGE_DIRECTORY } from '../../config/version.js';
import { notFound } from '../../platform/http/api-error.js';
import { securePage } from '../../platform/http/secure-page.js';

/** The output directory of `npm run build` for the page (src/entry/dashboard). */
const DIRECTORY = join(PACKAGE_DIRECTORY, 'dist/dashboard');
const INDEX = join(DIRECTORY, 'index.html');
const YEAR_MS = 365 * 86_400_000;

/**
 * Scripts, styles and connections only come from this server; nothing is inline, and no text becomes markup.
 */
const CONTENT_SECURITY = {
  defaultSrc: ["'self'"],
  objectSrc: ["'none'"],
  baseUri: ["'none'"],
  formAction: ["'none'"],
  frameAncestors: ["'none'"],
  requireTrustedTypesFor: ["'script'"],
  trustedTypes: ["'none'"],
};

/**
 * Serves the dashboard at `/` and its files below `/assets`, all below `PUBLIC_PATH`, without a key and
 * without the rate limit. File names contain a hash of the content, so browsers keep the files for ever and
 * request the page each time.
 */
export function serveDashboard(
  app: NestExpressApplication,
  { docs, publicPath, collector, sentryUrl }: Config,
  logger: Logger,
  hasCollector: boolean,
) {
  if (!existsSync(INDEX)) {
    logger.warn('the dashboard is not built: npm run build');
    return;
  }
  const secure = securePage(CONTENT_SECURITY);
  const server = app.getHttpAdapter().getInstance() as Application;
  // The page names its files and the API relative to itself, so its address needs the slash. The redirect is
  // relative too, so that it is right behind a proxy that removes a part of the path.
  if (publicPath !== '')
    server.get(publicPath, ({ url }: Request, response: Response) => {
      response.redirect(`./${basename(publicPath)}/${url.slice(publicPath.length)}`);
    });
  server.get(`${publicPath}/`, secure, async (_: Request, response: Response) => {
    const page = await readFile(INDEX, 'utf8');
    const filled = page
      .replace('name="docs" content="off"', `name="docs" content="${docs ? 'on' : 'off'}"`)
      .replace(
        'name="collector-port" content=""',
        `name="collector-port" content="${hasCollector ? collector.port : ''}"`,
      )
      // A function, because a text may have `$`.
      .replace('name="sentry-url" content=""', () => `name="sentry-url" content="${sentryUrl}"`);
    response.set('Cache-Control', 'no-cache').type('html').send(filled);
  });
  server.get(
    `${publicPath}/assets/:file`,
    secure,
    (request: Request, response: Response, next: NextFunction) => {
      const options = {
        root: join(DIRECTORY, 'assets'),
        maxAge: YEAR_MS,
        immutable: true,
        lastModified: false,
        acceptRanges: false,
      };
      response.sendFile(String(request.params.file), options, (error?: Error) => {
        // After the headers, the only error is that the client disconnected.
        if (error && !response.headersSent) next(notFound());
      });
    },
  );
}
