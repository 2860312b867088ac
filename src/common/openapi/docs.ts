import type { NestExpressApplication } from '@nestjs/platform-express';
import { type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import helmet from 'helmet';
import { createDocument } from './openapi.js';

/** The page runs this server's scripts alone, and speaks to this server alone. Its styles are partly its script's. */
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

/** Serves the document at `/openapi.json` and the page to try it at `/docs`, from this server's files alone. */
export function serveDocs(app: NestExpressApplication) {
  let document: OpenAPIObject | undefined;
  app.use(
    '/docs',
    helmet({
      contentSecurityPolicy: { useDefaults: false, directives: CONTENT_SECURITY },
      // Whether there is TLS in front is the operator's business; browsers complain of the others without it.
      strictTransportSecurity: false,
      crossOriginOpenerPolicy: false,
      originAgentCluster: false,
    }),
  );
  SwaggerModule.setup('docs', app, () => (document ??= createDocument(app)), {
    jsonDocumentUrl: 'openapi.json',
    raw: ['json'],
    customSiteTitle: 'Request Analytics API',
    // What a reader here has no use for: another product's banner, and a choice of one server.
    customCss: '.swagger-ui .topbar, .swagger-ui .servers-title, .swagger-ui .servers { display: none }',
    swaggerOptions: {
      persistAuthorization: true,
      displayRequestDuration: true,
      showCommonExtensions: true,
      defaultModelsExpandDepth: 0,
    },
  });
}
