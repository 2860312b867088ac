import type { INestApplication } from '@nestjs/common';
import { DocumentBuilder, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import { PRODUCT_VERSION } from '../../config/version.js';
import { errorResponseComponents, errorResponseReferences } from './error-responses.js';
import { ErrorBody, Problem, ValidationErrorBody, ValidationProblem } from './errors.dto.js';
import { RESPONSE_HEADERS } from './headers.js';
import { collectNamedSchemas } from './named-schemas.js';
import { API_KEY_SCHEME } from './read-operation.decorator.js';

const DESCRIPTION = `
Read the request logs and the aggregated traffic of the apps your team monitors.

### Your first call

1. Press **Authorize**, paste your API key, press **Authorize** below it, then **Close**.
   No key yet? \`npm run demo\` prints one; on a service of your own, \`npm run -s cli -- key create --team 1\` makes one.
2. Open **Get Team** below, press **Try it out**, then **Execute**. The response is your team.
3. **List Apps** gives the \`app_id\` that all other operations ask for.

### Good to know

- Every operation needs the \`Api-Key\` header. A key belongs to one team.
- A key may make 100 requests a minute, unless the operator has set another number; the \`X-RateLimit-*\` headers have the current state.
- The headers of a response are shown once, at its 200: errors have those of the limit as well.
- Parameters that an operation does not know have no effect; \`X-Ignored-Parameters\` names them, each with the one that may be meant.
- Errors are \`{"detail": …}\`; with \`Accept: application/problem+json\` they are problem details (RFC 9457).
- Pages: follow the \`Link\` header with \`rel="next"\`, or send \`next_token\` of a response with the same filters to get the next page, until \`has_more\` is false.
- Timestamps are ISO 8601 in UTC. Request logs are kept for 15 days, traffic and metrics for 13 months.
`.trim();

const TAGS = [
  ['Team', 'The team behind the key'],
  ['Apps', 'Apps and their environments'],
  ['Endpoints', "An app's endpoints"],
  ['Consumers', "An app's consumers"],
  ['Instances', 'Processes of an app, with their versions and resources'],
  ['Releases', 'Versions of an app, and when each began to run'],
  ['Request logs', 'Single requests'],
  ['Traffic', 'Requests and bytes per hour or day'],
  ['Metrics', 'Requests, errors, sizes and response times by period and group'],
  ['Alerts', 'Rules, and the states they give'],
  ['Errors', 'Errors that client libraries report, and exceptions of requests'],
  ['Traces', 'Spans of requests and of what they did'],
] as const;

/**
 * The OpenAPI 3.1 document, made from the same decorators as the validation.
 *
 * @param publicPath the address of the server in the document; the paths do not depend on it
 */
export function createDocument(app: INestApplication, publicPath = ''): OpenAPIObject {
  const { openapi, info, servers, tags, components, ...document } = SwaggerModule.createDocument(
    app,
    base(publicPath),
    {
      ignoreGlobalPrefix: true,
      autoTagControllers: false,
      extraModels: [ErrorBody, ValidationErrorBody, Problem, ValidationProblem],
    },
  );
  const paths = withoutAliases(document.paths);
  for (const { get, post } of Object.values(paths)) {
    Object.assign(get?.responses ?? {}, errorResponseReferences());
    Object.assign(post?.responses ?? {}, errorResponseReferences({ hasBody: true }));
  }
  const { schemas = {}, securitySchemes = {} } = components ?? {};
  return {
    openapi,
    info,
    ...(servers && { servers }),
    ...(tags && { tags }),
    paths,
    components: {
      securitySchemes,
      headers: RESPONSE_HEADERS,
      responses: errorResponseComponents(),
      schemas: withExamples({ ...schemas, ...collectNamedSchemas(paths) }),
    },
  };
}

/** Each operation once, under its first path. */
function withoutAliases(paths: OpenAPIObject['paths']): OpenAPIObject['paths'] {
  const documented = new Set<string | undefined>();
  return Object.fromEntries(
    Object.entries(paths).filter(([, { get, post }]) => {
      const { operationId } = post ?? get ?? {};
      const isFirst = !documented.has(operationId);
      documented.add(operationId);
      return isFirst;
    }),
  );
}

function base(publicPath: string) {
  const builder = new DocumentBuilder()
    .setOpenAPIVersion('3.1.0')
    .setTitle('Request Analytics Read API')
    .setDescription(DESCRIPTION)
    .setVersion(PRODUCT_VERSION)
    .setLicense('Apache-2.0', 'https://www.apache.org/licenses/LICENSE-2.0')
    .addServer(publicPath || '/', 'This server')
    .addApiKey(
      {
        type: 'apiKey',
        in: 'header',
        name: 'Api-Key',
        description: 'The API key of your team: 7 characters, a dot, 32 characters.',
      },
      API_KEY_SCHEME,
    );
  for (const [name, description] of TAGS) builder.addTag(name, description);
  const config = builder.build();
  config.info.contact = { name: 'The maintainers of this service' };
  return config;
}

/** Schemas of OpenAPI 3.1 are JSON Schema, which has `examples` but no `example`. */
function withExamples<Node>(node: Node): Node {
  if (Array.isArray(node)) return node.map(withExamples) as Node;
  if (typeof node !== 'object' || node === null) return node;
  const { example, ...rest } = Object.fromEntries(
    Object.entries(node).map(([name, value]) => [name, withExamples(value as unknown)]),
  );
  return (example === undefined ? rest : { ...rest, examples: [example] }) as Node;
}
