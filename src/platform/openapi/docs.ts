import { HttpStatus } from '@nestjs/common';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import type { NextFunction, Request, Response } from 'express';
import type { Config } from '../../config/config.js';
import { notFound } from '../http/api-error.js';
import { securePage } from '../http/secure-page.js';
import { createDocument } from './openapi.js';

/** The page may only run scripts of this server and connect to it. Its scripts set inline styles. */
const CONTENT_SECURITY = {
  defaultSrc: ["'none'"],
  scriptSrc: ["'self'"],
  styleSrc: ["'self'", "'unsafe-inline'"],
  imgSrc: ["'self'", 'data:'],
  connectSrc: ["'self'"],
  baseUri: ["'none'"],
  formAction: ["'none'"],
  frameAncestors: ["'none'"],
};

/** The files of the page. Swagger's package also has source maps, another page and more. */
const PAGE = new Set([
  '/',
  '/favicon-16x16.png',
  '/favicon-32x32.png',
  '/swagger-ui-bundle.js',
  '/swagger-ui-bundle.js.LICENSE.txt',
  '/swagger-ui-init.js',
  '/swagger-ui-standalone-preset.js',
  '/swagger-ui-standalone-preset.js.LICENSE.txt',
  '/swagger-ui.css',
]);

/**
 * Serves the document at `/openapi.json` and the Swagger page at `/docs`, without files of other servers.
 * `GET /` redirects to the page, unless the dashboard is served there. All are below `PUBLIC_PATH`.
 */
export function serveDocs(app: NestExpressApplication, { publicPath }: Config) {
  let document: OpenAPIObject | undefined;
  const http = app.getHttpAdapter();
  for (const path of new Set([publicPath || '/', `${publicPath}/`]))
    http.get(path, (_, response) => {
      http.redirect(response, HttpStatus.FOUND, `${publicPath}/docs`);
    });
  app.use(
    `${publicPath}/docs`,
    securePage(CONTENT_SECURITY),
    ({ path }: Request, _: Response, next: NextFunction) => {
      next(PAGE.has(path) ? undefined : notFound());
    },
  );
  SwaggerModule.setup('docs', app, () => (document ??= createDocument(app, publicPath)), {
    useGlobalPrefix: true,
    jsonDocumentUrl: 'openapi.json',
    raw: ['json'],
    customSiteTitle: 'Request Analytics API',
    // Hides Swagger's banner, the choice of a server, because there is only one server, and the headers of
    // errors, which are those of the 200.
    customCss:
      '.swagger-ui .topbar, .swagger-ui .servers-title, .swagger-ui .servers, ' +
      '.swagger-ui tr.response:not([data-code="200"]) .headers-wrapper { display: none }',
    swaggerOptions: {
      persistAuthorization: true,
      displayRequestDuration: true,
      showCommonExtensions: true,
      defaultModelsExpandDepth: 0,
    },
  });
}
