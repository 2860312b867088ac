import { MASK } from '../../../records/redaction/mask.js';
import type { Entity } from '../endpoints.js';
import type { DemoRequest } from '../demo-request.js';
import type { Choices, Random } from '../../../shared/random.js';
import type { PathParameters } from '../urls.js';

type Make = (random: Random, parameters: PathParameters) => object;

const PRODUCTS: Choices<string> = [
  'Two-person tent',
  'Rain jacket',
  'Espresso cup',
  'Desk lamp',
  'Bicycle bell',
  'Käsereibe „Alpin“',
  'Garden hammock',
  'Wooden train set',
];
const VERDICTS: Choices<string> = [
  'Exactly as described.',
  'Arrived late, but works well.',
  'Smaller than I thought 🙂',
  'Would buy again!',
];
const ORDER_STATES: Choices<string> = ['open', 'paid', 'shipped', 'returned'];
const CARRIER_STATES: Choices<string> = ['picked_up', 'in_transit', 'delivered'];

const price = (random: Random) => ({ amount: random.integer(499, 24_999), currency: 'EUR' });

const ENTITIES: Readonly<Record<Entity, Make>> = {
  product: (random, { product_id }) => ({
    id: Number(product_id ?? random.integer(1_000, 1_799)),
    sku: `SKU-${random.integer(1_000, 1_799)}`,
    name: random.pick(PRODUCTS),
    price: price(random),
    rating: random.integer(20, 50) / 10,
    in_stock: random.chance(0.9),
    tags: ['new', 'sale'].slice(random.integer(0, 2)),
  }),
  review: (random, { product_id }) => ({
    id: random.integer(1, 99_999),
    product_id: Number(product_id),
    stars: random.integer(1, 5),
    text: random.pick(VERDICTS),
    author: MASK,
  }),
  category: (random) => ({
    id: random.integer(1, 40),
    name: random.pick(PRODUCTS),
    products: random.integer(3, 240),
  }),
  cart: (random, { cart_id }) => ({
    id: cart_id ?? random.uuid(),
    items: [
      {
        id: 1,
        sku: `SKU-${random.integer(1_000, 1_799)}`,
        quantity: random.integer(1, 4),
        price: price(random),
      },
    ],
    total: price(random),
  }),
  order: (random, { order_id }) => ({
    id: order_id ?? `ord_${random.hex(12)}`,
    status: random.pick(ORDER_STATES),
    items: [
      { sku: `SKU-${random.integer(1_000, 1_799)}`, quantity: random.integer(1, 4), price: price(random) },
    ],
    total: price(random),
    ship_to: { name: MASK, street: MASK, city: 'Hamburg', country: 'DE' },
  }),
  payment: (random, { payment_id }) => ({
    id: payment_id ?? `pay_${random.hex(12)}`,
    order_id: `ord_${random.hex(12)}`,
    amount: price(random),
    method: 'card',
    card_number: MASK,
    cvc: MASK,
  }),
  token: () => ({ token_type: 'Bearer', access_token: MASK, refresh_token: MASK, expires_in: 3_600 }),
  customer: (random, { customer_id }) => ({
    id: Number(customer_id),
    email: MASK,
    phone: MASK,
    newsletter: random.chance(0.4),
    addresses: [{ street: MASK, city: 'Lyon', country: 'FR', is_default: true }],
  }),
  stock: (random, { sku }) => ({
    sku,
    available: random.integer(0, 250),
    reserved: random.integer(0, 9),
    warehouse: `W${random.integer(1, 4)}`,
  }),
  report: (random) => ({ quarter: random.integer(1, 4), revenue: price(random) }),
  shipment: (random) => ({
    event: random.pick(CARRIER_STATES),
    order_id: `ord_${random.hex(12)}`,
    tracking_code: MASK,
    weight_kg: random.integer(1, 120) / 10,
  }),
};

const ERRORS: Readonly<Record<number, readonly [code: string, message: string]>> = {
  400: ['bad_request', 'The request could not be read.'],
  401: ['unauthorized', 'The access token is missing or has expired.'],
  402: ['payment_declined', 'The card was declined.'],
  403: ['forbidden', 'This token does not allow that.'],
  404: ['not_found', 'There is no such resource.'],
  409: ['conflict', 'The resource was changed in the meantime.'],
  422: ['validation_failed', 'quantity must be at least 1.'],
  429: ['too_many_requests', 'Try again in 30 seconds.'],
};
const SERVER_ERROR = ['internal_error', 'Something went wrong on our side.'] as const;

/** The request's body as JSON text; null if it has none. */
export function requestBody(
  random: Random,
  { entity, parameters, request_size_bytes }: DemoRequest,
): string | null {
  if (entity === null || !request_size_bytes) return null;
  if (entity === 'token') return JSON.stringify({ grant_type: 'client_credentials', client_secret: MASK });
  // The sender does not know the ID yet, or has it in the path.
  return JSON.stringify({ ...ENTITIES[entity](random, parameters), id: undefined });
}

/** The response's body as JSON text, of about the response's size; null if it has none, or is not JSON. */
export function responseBody(random: Random, request: DemoRequest): string | null {
  const { entity, isList, parameters, status_code, response_size_bytes } = request;
  if (response_size_bytes === 0) return null;
  if (status_code >= 400) return errorBody(status_code);
  if (entity === null || entity === 'report') return null;
  const make = () => ENTITIES[entity](random, parameters);
  return JSON.stringify(isList ? createList(make, response_size_bytes ?? 0) : make());
}

function createList(make: () => object, size: number): object {
  const first = make();
  const count = Math.max(1, Math.floor(size / JSON.stringify(first).length));
  return { items: [first, ...Array.from({ length: count - 1 }, make)], total: count * 7, page: 1 };
}

function errorBody(status: number): string {
  const [code, message] = ERRORS[status] ?? SERVER_ERROR;
  return JSON.stringify({ error: { code, message } });
}
