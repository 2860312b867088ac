import type { Entity } from '../endpoints.js';
import type { DemoRequest } from '../demo-request.js';
import type { Random } from '../../../shared/random.js';

/** One step of a request inside the shop. */
export interface Step {
  name: string;
  kind: 'INTERNAL' | 'SERVER' | 'CLIENT' | 'PRODUCER';
  /** Share of the parent's time; the shares of all steps of a parent sum to less than 0.9. */
  share: number;
  failed?: boolean;
  attributes: Readonly<Record<string, unknown>>;
  steps?: readonly Step[];
}

const TABLES: Readonly<Record<Entity, string>> = {
  product: 'products',
  review: 'reviews',
  category: 'categories',
  cart: 'carts',
  order: 'orders',
  payment: 'payments',
  token: 'clients',
  customer: 'customers',
  stock: 'stock_levels',
  report: 'order_lines',
  shipment: 'shipments',
};

const VERBS: Readonly<Record<string, string>> = { GET: 'SELECT', POST: 'INSERT', DELETE: 'DELETE' };

/** The steps of a request that a route served; empty for other requests. */
export function createSteps(random: Random, request: DemoRequest): Step[] {
  const { entity, consumer, method, status_code } = request;
  if (entity === null) return [];
  const steps = [
    ...(consumer ? [authentication(consumer.identifier)] : []),
    method === 'GET' ? cacheLookup(random) : validation(),
  ];
  if (isRejectedEarly(status_code)) return steps;
  // A failed payment is never written to the database.
  if (entity === 'payment' && method === 'POST') steps.push(charge(status_code));
  if (entity !== 'payment' || status_code < 500) steps.push(query(random, request, TABLES[entity]));
  if (entity === 'order' && status_code === 201) steps.push(publication());
  return steps;
}

/** Whether the request ended before it reached the data. */
function isRejectedEarly(status: number): boolean {
  return [304, 400, 401, 403, 422, 429].includes(status);
}

function authentication(consumer: string): Step {
  return {
    name: 'authenticate',
    kind: 'INTERNAL',
    share: 0.08,
    attributes: { 'enduser.id': consumer, cached: true },
  };
}

function validation(): Step {
  return { name: 'validate body', kind: 'INTERNAL', share: 0.05, attributes: { 'schema.version': 3 } };
}

function cacheLookup(random: Random): Step {
  return {
    name: 'GET',
    kind: 'CLIENT',
    share: 0.06,
    attributes: { 'db.system.name': 'redis', 'cache.hit': random.chance(0.4), 'cache.ttl_s': 300 },
  };
}

function query(random: Random, { method, isList, status_code }: DemoRequest, table: string): Step {
  const verb = VERBS[method] ?? 'UPDATE';
  return {
    name: `${verb} ${table}`,
    kind: 'CLIENT',
    share: 0.35,
    failed: status_code === 500,
    attributes: {
      'db.system.name': 'postgresql',
      'db.namespace': 'shop',
      'db.operation.name': verb,
      'db.query.text': verb === 'SELECT' ? `SELECT * FROM ${table} WHERE id = $1` : `${verb} ${table} …`,
      'db.response.returned_rows': isList ? random.integer(10, 50) : 1,
    },
  };
}

function charge(status: number): Step {
  const call: Step = {
    name: 'POST',
    kind: 'CLIENT',
    share: 0.8,
    failed: status >= 500,
    attributes: {
      'url.full': 'https://payments.example/v2/charges?key=******',
      ...(status < 500 ? { 'http.response.status_code': 200 } : { 'error.type': 'ECONNREFUSED' }),
      'http.request.header.accept': ['application/json'],
      'retry.delays_ms': [100, 250.5],
    },
  };
  return {
    name: 'charge card',
    kind: 'INTERNAL',
    share: 0.32,
    failed: status >= 500,
    attributes: { attempt: 1 },
    steps: [call],
  };
}

function publication(): Step {
  return {
    name: 'orders.placed publish',
    kind: 'PRODUCER',
    share: 0.05,
    attributes: { 'messaging.system': 'kafka', 'messaging.destination.name': 'orders.placed' },
  };
}
