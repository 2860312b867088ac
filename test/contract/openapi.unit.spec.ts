import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import type { MediaTypeObject, RequestBodyObject, ResponseObject, SchemaObject } from '@nestjs/swagger';
import { AppModule } from '../../src/app.module.js';
import { Config } from '../../src/config/config.js';
import { HttpAdapter } from '../../src/platform/http/http.adapter.js';
import { createDocument } from '../../src/platform/openapi/openapi.js';
import { type HttpResponse, check, findSchemaErrors } from '../setup/conforms.js';
import { allOperations, document, operations, resolve } from '../setup/document.js';

/** Every object of the document, with the path of keys that leads to it. */
function* nodes(node: unknown, path: readonly string[] = []): Generator<[string, Record<string, unknown>]> {
  if (typeof node !== 'object' || node === null) return;
  if (!Array.isArray(node)) yield [path.join('/'), node as Record<string, unknown>];
  for (const [key, value] of Object.entries(node)) yield* nodes(value, [...path, key]);
}

describe('the committed document', () => {
  it('is the one that the running decorators make, member by member', async () => {
    const app = await NestFactory.create(AppModule.on(new Config()), new HttpAdapter(), {
      preview: true,
      logger: false,
    });
    expect(JSON.stringify(createDocument(app))).toBe(JSON.stringify(document));
  });

  it('is OpenAPI 3.1, with one server: the one that serves it', () => {
    expect(document.openapi).toBe('3.1.0');
    expect(document.servers).toEqual([{ url: '/', description: expect.any(String) }]);
    expect(document.components?.securitySchemes).toMatchObject({
      ApiKey: { type: 'apiKey', in: 'header', name: 'Api-Key' },
    });
  });

  it('uses each of its components, and none that it lacks', () => {
    const used = [...nodes(document)].flatMap(([, { $ref }]) => ($ref === undefined ? [] : [$ref as string]));
    const { securitySchemes = {}, ...components } = document.components!;
    const made = Object.entries(components).flatMap(([kind, members]) =>
      Object.keys(members).map((name) => `#/components/${kind}/${name}`),
    );
    expect([...new Set(used)].sort()).toEqual(made.sort());
    expect(Object.keys(securitySchemes)).toEqual(['ApiKey']);
  });

  it('says null as 3.1 does, and nothing beside a reference', () => {
    const all = [...nodes(document)];
    expect(all.filter(([, node]) => 'nullable' in node)).toEqual([]);
    expect(all.filter(([, node]) => '$ref' in node && Object.keys(node).length > 1)).toEqual([]);
  });

  it('allows null for each member of a request body that may be absent, and for no other', () => {
    const members = [...nodes(document.paths)].flatMap(([path, { requestBody }]) => {
      const body = requestBody as RequestBodyObject | undefined;
      const schema = body && resolve<SchemaObject>(body.content['application/json']!.schema as SchemaObject);
      return Object.entries(schema?.properties ?? {}).map(([name, member]) => ({
        member: `${path} ${name}`,
        isRequired: schema!.required!.includes(name),
        allowsNull: findSchemaErrors(member as SchemaObject, null).length === 0,
      }));
    });
    expect(members.length).toBeGreaterThan(20);
    for (const { member, isRequired, allowsNull } of members)
      expect([member, allowsNull]).toEqual([member, !isRequired]);
  });

  it('has only examples that are what they show', () => {
    const schemas = [...nodes(document.components?.schemas)].filter(
      ([, { examples }]) => examples !== undefined,
    );
    expect(schemas.length).toBeGreaterThan(40);
    for (const [path, { examples, ...schema }] of schemas)
      for (const example of examples as unknown[])
        expect([path, findSchemaErrors(schema, example)]).toEqual([path, []]);
    for (const [name, header] of Object.entries(document.components?.headers ?? {})) {
      const { schema, example } = header as { schema: SchemaObject; example: unknown };
      expect([name, findSchemaErrors(schema, example)]).toEqual([name, []]);
    }
    for (const [name, response] of Object.entries(document.components?.responses ?? {})) {
      const { schema, example, examples } = getBody(response as ResponseObject);
      const shown = examples
        ? Object.values(examples).map((value) => resolve<{ value: unknown }>(value as never).value)
        : [example];
      for (const body of shown) expect([name, findSchemaErrors(schema!, body)]).toEqual([name, []]);
    }
  });
});

function getBody({ content }: ResponseObject): MediaTypeObject {
  return content!['application/json']!;
}

describe.each(allOperations)('$id', ({ id, method, path, parameters, definition }) => {
  it('says what it does, and to whom', () => {
    expect(definition).toMatchObject({
      operationId: id,
      summary: expect.stringMatching(/^(Get|List|Query|Export|Explain) [A-Z]/),
      description: expect.stringMatching(/^[A-Z].*\.$/s),
      security: [{ ApiKey: [] }],
    });
    expect(definition.tags).toHaveLength(1);
    expect(document.tags?.map(({ name }) => name)).toContain(definition.tags?.[0]);
  });

  it('documents every response, each with its headers and its body', () => {
    const withBody = method === 'post' ? ['413'] : [];
    const { headers } = resolve<ResponseObject>(definition.responses['200'] as ResponseObject);
    const conditional = 'ETag' in headers! ? ['304'] : [];
    const statuses = [
      '200',
      ...conditional,
      '401',
      '403',
      '404',
      ...withBody,
      '422',
      '429',
      '500',
      '503',
      '504',
    ];
    expect(Object.keys(definition.responses)).toEqual(statuses);
    for (const status of statuses) {
      const response = resolve<ResponseObject>(definition.responses[status] as ResponseObject);
      expect(response.description).not.toBe('');
      expect(response.headers).toHaveProperty('X-Request-Id');
      if (status === '304') continue;
      const bodies =
        status === '200' ? Object.values(response.content!).slice(0, 1) : Object.values(response.content!);
      const isText = Object.keys(response.content ?? {})[0] === 'text/plain';
      for (const { schema } of bodies) expect(schema).toHaveProperty(isText ? 'type' : '$ref');
    }
  });

  it('gives every parameter a description, bounds and examples, and defaults that are within them', () => {
    const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
    expect(parameters.filter((parameter) => parameter.in === 'path').map(({ name }) => name)).toEqual(inPath);
    for (const { name, in: place, required, description, schema } of parameters) {
      const { examples, default: standard, ...rest } = schema;
      expect([name, required, description]).toEqual([
        name,
        place === 'path',
        expect.stringMatching(/^[A-Z]/),
      ]);
      expect([name, examples?.length]).toEqual([name, 1]);
      for (const value of [...examples!, ...(standard === undefined ? [] : [standard])])
        expect([name, findSchemaErrors(rest, value)]).toEqual([name, []]);
      if (schema.type === 'integer') expect([name, schema.minimum]).toEqual([name, 1]);
    }
  });
});

describe.each(allOperations.filter(({ method }) => method === 'post'))(
  'the body of $id',
  ({ definition }) => {
    const { content, required } = definition.requestBody as RequestBodyObject;
    const { schema: sent, examples: bodies } = content['application/json']!;
    const schema = resolve<SchemaObject>(sent as SchemaObject);

    it('gives every member a description and examples, and defaults that are within its bounds', () => {
      expect([required, schema.type]).toEqual([true, 'object']);
      for (const [name, member] of Object.entries(schema.properties!)) {
        const {
          description,
          examples,
          default: standard,
          ...rest
        } = member as SchemaObject & { examples: unknown[] };
        expect([name, description]).toEqual([name, expect.stringMatching(/^[A-Z]/)]);
        for (const value of [...examples, ...(standard === undefined ? [] : [standard as unknown])])
          expect([name, findSchemaErrors(rest, value)]).toEqual([name, []]);
      }
    });

    it('offers bodies that it allows', () => {
      const offered = Object.values(bodies as Record<string, { value: object }>);
      expect(offered.length).toBeGreaterThan(0);
      for (const { value } of offered) {
        expect(findSchemaErrors(sent as SchemaObject, value)).toEqual([]);
        expect(Object.keys(schema.properties!)).toEqual(expect.arrayContaining(Object.keys(value)));
      }
    });

    // Generators make up other names in each version, or none.
    it('has a name for each of its enums and objects', () => {
      for (const [name, member] of Object.entries(schema.properties!)) {
        const { items, ...rest } = member as SchemaObject;
        expect([name, 'enum' in rest, rest.type === 'object']).toEqual([name, false, false]);
        const isNamed = items === undefined || '$ref' in items;
        expect([name, isNamed]).toEqual([name, true]);
      }
    });
  },
);

describe('the check of responses against the document', () => {
  const operation = operations.find(({ id }) => id === 'getTeam')!;
  const good: HttpResponse = {
    status: 200,
    headers: {
      'content-type': 'application/json; charset=utf-8',
      'x-request-id': 'a',
      'x-ratelimit-limit': '100',
      'x-ratelimit-remaining': '99',
      'x-ratelimit-reset': '1795220160',
      'ratelimit-policy': '"default";q=100;w=60',
      ratelimit: '"default";r=99;t=60',
    },
    text: '{"id":1,"name":"Acme"}',
  };
  const withoutReset = { ...good.headers, 'x-ratelimit-reset': undefined };

  it('takes what is documented', () => {
    expect(() => {
      check(operation, good);
    }).not.toThrow();
  });

  it.each<[string, Partial<HttpResponse>, RegExp]>([
    ['a status', { status: 418 }, /its status is not documented/],
    ['a header that is missing', { headers: withoutReset }, /X-RateLimit-Reset is missing/],
    [
      'a header of another form',
      { headers: { ...good.headers, 'x-ratelimit-limit': 'x' } },
      /X-RateLimit-Limit: /,
    ],
    [
      'a header that has no place there',
      { headers: { ...good.headers, 'retry-after': '1' } },
      /Retry-After is not/,
    ],
    ['a body that is not JSON', { headers: { ...good.headers, 'content-type': 'text/html' } }, /not JSON/],
    ['a member that is missing', { text: '{"id":1}' }, /required/],
    ['a member of another type', { text: '{"id":"1","name":"Acme"}' }, /must be integer/],
    ['an unknown member', { text: '{"id":1,"name":"Acme","plan":"free"}' }, /additional/],
    ['a null', { text: '{"id":1,"name":null}' }, /must be string/],
  ])('rejects %s', (_case, change, message) => {
    expect(() => {
      check(operation, { ...good, ...change });
    }).toThrow(message);
  });
});
