import formats from 'ajv-formats';
import { Ajv2020, type AnySchemaObject, type ValidateFunction } from 'ajv/dist/2020.js';
import { type Operation, allOperations, document, getResponse } from './document.js';

/** A response as any HTTP client has it; header names in lower case. */
export interface HttpResponse {
  status: number;
  headers: Readonly<Record<string, string | string[] | undefined>>;
  text: string;
}

const ajv = new Ajv2020({ allErrors: true, allowUnionTypes: true });
formats.default(ajv);
ajv.addVocabulary(['components', 'example']);
ajv.addSchema({ $id: 'api', components: { schemas: closed(document.components?.schemas) } });
const compiled = new WeakMap<object, ValidateFunction>();

/** Headers that the document must know of wherever they are sent. */
const DOCUMENTED_HEADERS = Object.keys(document.components?.headers ?? {});

const templates = allOperations.map((operation) => ({
  operation,
  shape: new RegExp(`^${operation.path.replace(/\{\w+\}/g, '[^/]+')}$`),
}));

/** The operation that serves a path, if one does. */
function operationAt(path: string, method = 'GET'): Operation | undefined {
  const name = method === 'POST' ? 'post' : 'get';
  return templates.find(({ operation, shape }) => operation.method === name && shape.test(path))?.operation;
}

/**
 * For `.expect()`: holds a response of one of the operations against the document, the method being GET, HEAD
 * or POST. Its status must be documented, its headers present and of their form, its body valid, with no
 * member that the document does not know.
 */
export function conforms(path: string, method = 'GET') {
  const operation = operationAt(path, method);
  return (actual: HttpResponse) => {
    if (operation) check(operation, actual, method);
  };
}

/** @throws Error that names what the document does not allow. */
export function check(operation: Operation, actual: HttpResponse, method = 'GET'): void {
  const response = getResponse(operation, actual.status);
  const errors = response
    ? [
        ...findHeaderErrors(response.headers, actual),
        ...(method === 'HEAD' || actual.status === 304 ? [] : findBodyErrors(response, actual)),
      ]
    : ['its status is not documented'];
  if (errors.length > 0)
    throw new Error(
      `${operation.id} returned ${actual.status}: ${errors.join('; ')}\n${(actual.text || '').slice(0, 500)}`,
    );
}

/** Whether a value is one of the schema; for parameters, headers and examples. */
export function findSchemaErrors(schema: object, value: unknown): string[] {
  const validate = compileValidator(schema);
  if (validate(value)) return [];
  return (validate.errors ?? []).map(
    ({ instancePath, message, params }) =>
      `${instancePath || '/'} ${message ?? ''} ${JSON.stringify(params)}`,
  );
}

type Documented = NonNullable<ReturnType<typeof getResponse>>;

function findHeaderErrors(documented: Documented['headers'], { headers }: HttpResponse): string[] {
  const unknown = DOCUMENTED_HEADERS.filter(
    (name) => headers[name.toLowerCase()] !== undefined && !documented.some((header) => header.name === name),
  ).map((name) => `header ${name} is not documented`);
  const wrong = documented.flatMap(({ name, required, schema }) => {
    const sent = headers[name.toLowerCase()];
    if (sent === undefined) return required ? [`header ${name} is missing`] : [];
    const value = (schema as AnySchemaObject).type === 'integer' ? Number(sent) : sent;
    return findSchemaErrors(schema!, value).map((error) => `header ${name}: ${error}`);
  });
  return [...unknown, ...wrong];
}

function findBodyErrors({ content }: Documented, { headers, text }: HttpResponse): string[] {
  const [type = ''] = String(headers['content-type']).split(';');
  const schema = content[type]?.schema;
  if (!schema)
    return [
      type in content || !('application/json' in content)
        ? `its type ${type} is not documented`
        : 'its body is not JSON',
    ];
  const bodies =
    type === 'application/json'
      ? [text]
      : type === 'application/x-ndjson'
        ? text.split('\n').slice(0, -1)
        : [];
  return bodies.flatMap((body) => findSchemaErrors(schema, JSON.parse(body)).map((error) => `body ${error}`));
}

function compileValidator(schema: object): ValidateFunction {
  const cached = compiled.get(schema);
  if (cached) return cached;
  const absolute = JSON.parse(
    JSON.stringify(schema).replaceAll('"#/components/', '"api#/components/'),
  ) as AnySchemaObject;
  const validate = ajv.compile(absolute);
  compiled.set(schema, validate);
  return validate;
}

/** The same schemas, but no object may have members that they do not name. */
function closed<Node>(node: Node): Node {
  if (Array.isArray(node)) return node.map(closed) as Node;
  if (typeof node !== 'object' || node === null) return node;
  const members = Object.fromEntries(
    Object.entries(node).map(([name, value]) => [name, closed(value as unknown)]),
  );
  const open = 'properties' in members && !('additionalProperties' in members);
  return (open ? { ...members, additionalProperties: false } : members) as Node;
}
