import type { INestApplication } from '@nestjs/common';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { DocumentBuilder, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import { API_KEY_SCHEME } from './read-operation.decorator.js';

const DESCRIPTION = `
Read the request logs and the aggregated traffic of the apps your team monitors.

**Start here:** press *Authorize*, paste your API key, then open *Get Team* below, press *Try it out* and *Execute*.
*List Apps* tells the \`app_id\` that the other operations ask for. A fresh demo prints its key when it starts.

- Every operation is a GET and needs the \`Api-Key\` header. A key belongs to one team on the Premium plan.
- 100 requests a minute and key; the \`X-RateLimit-*\` headers tell what is left.
- Pages: send \`next_token\` of an answer with the same filters to get the next page, until \`has_more\` is false.
- Timestamps are ISO 8601 in UTC. Request logs are kept for 15 days, traffic for 13 months.
`.trim();

const TAGS = [
  ['Team', 'The team behind the key'],
  ['Apps', 'Apps and their environments'],
  ['Endpoints', "An app's endpoints"],
  ['Consumers', "An app's consumers"],
  ['Request logs', 'Single requests'],
  ['Traffic', 'Requests and bytes per hour or day'],
] as const;

/** The OpenAPI 3.1 document, made from the decorators that run. */
export function createDocument(app: INestApplication): OpenAPIObject {
  const builder = new DocumentBuilder()
    .setOpenAPIVersion('3.1.0')
    .setTitle('Request Analytics Read API')
    .setDescription(DESCRIPTION)
    .setVersion('1.0.0')
    .setLicense('Apache-2.0', 'https://www.apache.org/licenses/LICENSE-2.0')
    .addServer('/', 'This server')
    .addApiKey(
      { type: 'apiKey', in: 'header', name: 'Api-Key', description: 'API key of a team' },
      API_KEY_SCHEME,
    );
  for (const [name, description] of TAGS) builder.addTag(name, description);
  const config = builder.build();
  config.info.contact = { name: 'The maintainers of this service' };
  return withTypeArrays(SwaggerModule.createDocument(app, config)) as OpenAPIObject;
}

/** Serves the document at `/openapi.json` and the page to try it at `/docs`, from this server's files alone. */
export function serveDocs(app: NestExpressApplication) {
  let document: OpenAPIObject | undefined;
  SwaggerModule.setup('docs', app, () => (document ??= createDocument(app)), {
    jsonDocumentUrl: 'openapi.json',
    raw: ['json'],
    customSiteTitle: 'Request Analytics API',
    swaggerOptions: { persistAuthorization: true, displayRequestDuration: true, tryItOutEnabled: false },
  });
}

/** The decorators know OpenAPI 3.0's `nullable`; 3.1 says it with types. */
function withTypeArrays(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(withTypeArrays);
  if (typeof node !== 'object' || node === null) return node;
  const { nullable, ...rest } = Object.fromEntries(
    Object.entries(node).map(([name, value]) => [name, withTypeArrays(value)]),
  );
  if (nullable !== true) return nullable === undefined ? rest : { nullable, ...rest };
  return nullableSchema(rest);
}

function nullableSchema({ type, enum: values, allOf, $ref, ...rest }: Record<string, unknown>) {
  if (typeof type === 'string')
    return { type: [type, 'null'], ...(Array.isArray(values) ? { enum: [...(values as unknown[]), null] } : {}), ...rest };
  const reference = Array.isArray(allOf) ? (allOf as unknown[])[0] : { $ref };
  return { anyOf: [reference, { type: 'null' }], ...rest };
}
