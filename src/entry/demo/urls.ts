import type { DemoEndpoint } from './endpoints.js';
import type { Choices, Random } from '../../shared/random.js';

/** Values of a path's parameters by name. */
export type PathParameters = Readonly<Record<string, string>>;

const HOSTS: Readonly<Record<string, string>> = {
  prod: 'api.shop.example',
  dev: 'api.dev.shop.example',
};
const CATEGORIES: Choices<string> = ['outdoor', 'kitchen', 'garden', 'office', 'toys', 'bikes', 'lighting'];
const SORTS: Choices<string> = ['price', '-price', 'rating', 'newest'];
const TERMS: Choices<string> = [
  'tent',
  'rain%20jacket',
  'espresso+cup',
  'desk%20lamp',
  'bike%20bell',
  'k%C3%A4sereibe',
  'hammock',
];
const STATES: Choices<string> = ['open', 'paid', 'shipped', 'returned'];
/** Unknown paths that scanners and old clients request. */
const UNMATCHED_TARGETS: Choices<string> = [
  '/wp-login.php',
  '/.env',
  '/admin/',
  '/v2/products',
  '/v1/product/1042',
  '/api/v1/orders',
  '/phpmyadmin/index.php',
  '/v1/basket?legacy=1',
  '/robots.txt',
  '/favicon.ico',
];

const PARAMETERS: Readonly<Record<string, (random: Random) => string>> = {
  // Squared, so that the first products are requested most.
  product_id: (random) => String(1_000 + Math.floor(random.fraction() ** 2 * 800)),
  cart_id: (random) => random.uuid(),
  item_id: (random) => String(random.integer(1, 9)),
  order_id: (random) => `ord_${random.hex(12)}`,
  payment_id: (random) => `pay_${random.hex(12)}`,
  customer_id: (random) => String(random.integer(20_000, 34_999)),
  sku: (random) => `SKU-${random.integer(1_000, 1_799)}`,
};

const QUERIES: Readonly<Record<string, (random: Random) => string>> = {
  'GET /v1/products': (random) =>
    random.chance(0.5)
      ? `?category=${random.pick(CATEGORIES)}&page=${random.integer(1, 6)}`
      : `?page=${random.integer(1, 20)}&per_page=24&sort=${random.pick(SORTS)}`,
  'GET /v1/products/{product_id}/reviews': (random) =>
    random.chance(0.4) ? `?page=${random.integer(2, 5)}` : '',
  'GET /v1/search': (random) =>
    `?q=${random.pick(TERMS)}${random.chance(0.3) ? `&category=${random.pick(CATEGORIES)}` : ''}`,
  // A client library masks sensitive parameters before it sends them.
  'GET /v1/orders': (random) =>
    random.chance(0.3) ? '?customer_email=******' : `?status=${random.pick(STATES)}&limit=50`,
  'GET /v1/reports/sales': (random) => `?quarter=${random.integer(1, 4)}&format=csv`,
  'POST /v1/webhooks/shipping': () => '?signature=******',
};

export function getHost(env: string): string {
  return HOSTS[env] ?? 'localhost';
}

/** Values for the parameters in braces of a path pattern. */
export function createParameters(path: string, random: Random): PathParameters {
  const names = path.match(/(?<=\{)[^}]+/g) ?? [];
  return Object.fromEntries(names.map((name) => [name, PARAMETERS[name]?.(random) ?? '1']));
}

/** The URL of one request to an endpoint, with its query. */
export function buildUrl(
  env: string,
  endpoint: Pick<DemoEndpoint, 'method' | 'path'>,
  parameters: PathParameters,
  random: Random,
): string {
  const pathname = endpoint.path.replace(/\{([^}]+)\}/g, (_, name: string) => parameters[name] ?? '1');
  const query = QUERIES[`${endpoint.method} ${endpoint.path}`]?.(random) ?? '';
  return `https://${getHost(env)}${pathname}${query}`;
}

/** The URL of a request without a route. */
export function buildUnmatchedUrl(env: string, random: Random): string {
  return `https://${getHost(env)}${random.pick(UNMATCHED_TARGETS)}`;
}
