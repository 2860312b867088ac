import { Weighted } from '../../shared/random.js';

/** The subject of an endpoint, which determines the shape of its bodies. */
export type Entity =
  | 'product'
  | 'review'
  | 'category'
  | 'cart'
  | 'order'
  | 'payment'
  | 'token'
  | 'customer'
  | 'stock'
  | 'report'
  | 'shipment';

/** A route of the sample shop, with its usual requests and responses. */
export interface DemoEndpoint {
  method: string;
  /** Pattern, parameters in braces. */
  path: string;
  entity: Entity;
  /** Returns a list of entities. */
  isList: boolean;
  /** How often it is called, in proportion to the others. */
  weight: number;
  /** Serves anonymous clients. */
  isOpen: boolean;
  /** Median response time in milliseconds. */
  latencyMs: number;
  /** Median of the request body's size; 0 if there is no body. */
  requestBytes: number;
  /** Median of the response's size; null if it is streamed and unknown. */
  responseBytes: number | null;
  statuses: Weighted<number>;
}

type Traits = Pick<DemoEndpoint, 'entity' | 'weight' | 'latencyMs' | 'responseBytes'> &
  Partial<Pick<DemoEndpoint, 'isList' | 'isOpen' | 'requestBytes'>> & {
    /** Likelihoods by status code. */
    statuses: Readonly<Record<number, number>>;
  };

function endpoint(route: `${string} /${string}`, { statuses, ...traits }: Traits): DemoEndpoint {
  const [method = '', path = ''] = route.split(' ');
  const mix = Object.entries(statuses).map(([status, weight]) => [Number(status), weight] as const);
  return {
    method,
    path,
    isList: false,
    isOpen: false,
    requestBytes: 0,
    ...traits,
    statuses: new Weighted(mix),
  };
}

const READ = { 200: 900, 304: 45, 401: 8, 404: 18, 429: 4, 500: 3, 503: 1 };
const READ_LIST = { 200: 940, 304: 30, 400: 8, 401: 6, 429: 5, 500: 3, 503: 1 };
const WRITE = { 200: 900, 400: 14, 401: 10, 403: 6, 404: 14, 409: 8, 422: 28, 500: 6 };
const CREATE = { 201: 880, 400: 16, 401: 10, 409: 12, 422: 46, 429: 4, 500: 8, 503: 2 };

export const ENDPOINTS: readonly DemoEndpoint[] = [
  endpoint('GET /v1/products', {
    entity: 'product',
    isList: true,
    isOpen: true,
    weight: 18,
    latencyMs: 62,
    responseBytes: 9_200,
    statuses: READ_LIST,
  }),
  endpoint('GET /v1/products/{product_id}', {
    entity: 'product',
    isOpen: true,
    weight: 22,
    latencyMs: 18,
    responseBytes: 420,
    statuses: { ...READ, 304: 120, 404: 30 },
  }),
  endpoint('GET /v1/products/{product_id}/reviews', {
    entity: 'review',
    isList: true,
    isOpen: true,
    weight: 6,
    latencyMs: 41,
    responseBytes: 3_900,
    statuses: READ,
  }),
  endpoint('POST /v1/products/{product_id}/reviews', {
    entity: 'review',
    weight: 0.8,
    latencyMs: 74,
    requestBytes: 240,
    responseBytes: 310,
    statuses: CREATE,
  }),
  endpoint('GET /v1/categories', {
    entity: 'category',
    isList: true,
    isOpen: true,
    weight: 7,
    latencyMs: 6,
    responseBytes: 1_450,
    statuses: { 200: 700, 304: 290, 500: 1 },
  }),
  endpoint('GET /v1/search', {
    entity: 'product',
    isList: true,
    isOpen: true,
    weight: 10,
    latencyMs: 145,
    responseBytes: 6_800,
    statuses: { ...READ_LIST, 400: 20, 504: 5 },
  }),
  endpoint('POST /v1/carts', {
    entity: 'cart',
    isOpen: true,
    weight: 3,
    latencyMs: 28,
    requestBytes: 60,
    responseBytes: 260,
    statuses: { 201: 980, 400: 6, 429: 4, 500: 2 },
  }),
  endpoint('GET /v1/carts/{cart_id}', {
    entity: 'cart',
    isOpen: true,
    weight: 6,
    latencyMs: 15,
    responseBytes: 640,
    statuses: { 200: 940, 404: 50, 500: 2 },
  }),
  endpoint('POST /v1/carts/{cart_id}/items', {
    entity: 'cart',
    isOpen: true,
    weight: 5,
    latencyMs: 33,
    requestBytes: 70,
    responseBytes: 640,
    // A 500 comes with `BROKEN` alone.
    statuses: { 200: 900, 404: 22, 409: 40, 422: 24 },
  }),
  endpoint('DELETE /v1/carts/{cart_id}/items/{item_id}', {
    entity: 'cart',
    isOpen: true,
    weight: 1,
    latencyMs: 22,
    responseBytes: 0,
    statuses: { 204: 950, 404: 48, 500: 2 },
  }),
  endpoint('POST /v1/orders', {
    entity: 'order',
    weight: 3,
    latencyMs: 210,
    requestBytes: 680,
    responseBytes: 890,
    statuses: { ...CREATE, 402: 30, 500: 14 },
  }),
  endpoint('GET /v1/orders', {
    entity: 'order',
    isList: true,
    weight: 4,
    latencyMs: 88,
    responseBytes: 12_400,
    statuses: READ_LIST,
  }),
  endpoint('GET /v1/orders/{order_id}', {
    entity: 'order',
    weight: 7,
    latencyMs: 31,
    responseBytes: 890,
    statuses: READ,
  }),
  endpoint('PATCH /v1/orders/{order_id}', {
    entity: 'order',
    weight: 1,
    latencyMs: 96,
    requestBytes: 120,
    responseBytes: 890,
    statuses: WRITE,
  }),
  endpoint('POST /v1/payments', {
    entity: 'payment',
    weight: 2.5,
    latencyMs: 620,
    requestBytes: 410,
    responseBytes: 330,
    statuses: { ...CREATE, 402: 70, 500: 12, 502: 6, 504: 4 },
  }),
  endpoint('GET /v1/payments/{payment_id}', {
    entity: 'payment',
    weight: 2,
    latencyMs: 24,
    responseBytes: 330,
    statuses: READ,
  }),
  endpoint('POST /v1/auth/token', {
    entity: 'token',
    isOpen: true,
    weight: 4,
    latencyMs: 130,
    requestBytes: 150,
    responseBytes: 190,
    statuses: { 200: 880, 400: 14, 401: 92, 429: 12, 500: 1 },
  }),
  endpoint('GET /v1/customers/{customer_id}', {
    entity: 'customer',
    weight: 2.5,
    latencyMs: 20,
    responseBytes: 380,
    statuses: { ...READ, 403: 20 },
  }),
  endpoint('PUT /v1/customers/{customer_id}', {
    entity: 'customer',
    weight: 0.8,
    latencyMs: 68,
    requestBytes: 340,
    responseBytes: 380,
    statuses: WRITE,
  }),
  endpoint('GET /v1/inventory/{sku}', {
    entity: 'stock',
    weight: 5,
    latencyMs: 9,
    responseBytes: 170,
    statuses: READ,
  }),
  endpoint('PUT /v1/inventory/{sku}', {
    entity: 'stock',
    weight: 2,
    latencyMs: 47,
    requestBytes: 90,
    responseBytes: 170,
    statuses: WRITE,
  }),
  endpoint('POST /v1/webhooks/shipping', {
    entity: 'shipment',
    weight: 1.5,
    latencyMs: 52,
    requestBytes: 520,
    responseBytes: 0,
    statuses: { 204: 960, 400: 12, 401: 10, 500: 6 },
  }),
  endpoint('GET /v1/reports/sales', {
    entity: 'report',
    weight: 0.6,
    latencyMs: 1_900,
    responseBytes: null,
    statuses: { 200: 950, 400: 10, 403: 20, 500: 8, 504: 20 },
  }),
];

/** The route that its responses call deprecated; those who still call it, and its share of their requests. */
export const DEPRECATED = {
  endpoint: endpoint('GET /v1/stock/{sku}', {
    entity: 'stock',
    weight: 0,
    latencyMs: 12,
    responseBytes: 170,
    statuses: READ,
  }),
  callers: ['amber-outfitters', 'cobalt-outfitters'],
  share: 0.15,
};

/** The route that the document of the demo leaves out, and an operation of it that nobody calls. */
const UNDOCUMENTED = 'POST /v1/webhooks/shipping';
const NEVER_CALLED = { method: 'DELETE', path: '/v1/customers/{customer_id}' };

/** The OpenAPI document of the demo; its server has the beginning that all routes share. */
export function createDocument() {
  const routes = [...ENDPOINTS, DEPRECATED.endpoint, NEVER_CALLED];
  const paths: Record<string, Record<string, object>> = {};
  for (const { method, path } of routes) {
    if (`${method} ${path}` === UNDOCUMENTED) continue;
    const [, template = path, tag = ''] = /^\/v1(\/(\w+).*)$/.exec(path) ?? [];
    const name = template.replaceAll(/[^a-z]+(.)?/g, (_, letter?: string) => letter?.toUpperCase() ?? '');
    const operation = {
      operationId: method.toLowerCase() + name,
      tags: [tag],
      ...(path === DEPRECATED.endpoint.path && { deprecated: true }),
    };
    paths[template] = { ...paths[template], [method.toLowerCase()]: operation };
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Shop API', version: '1.0.0' },
    servers: [{ url: 'https://api.shop.example/v1' }],
    paths,
  };
}

/** The route that the demo marks as excluded from logs and traffic (docs/contract.md#excluded-endpoints). */
export const EXCLUDED = { method: 'POST', path: '/internal/metrics' };
