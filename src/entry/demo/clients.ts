import type { ConsumerRecord } from '../../records/request-record.js';
import { type DemoConsumer, pickConsumer, pickDeveloper } from './consumers.js';
import { DEPRECATED, type DemoEndpoint, ENDPOINTS } from './endpoints.js';
import { pickAddress, pickInternalAddress, pickPlace } from './ip-ranges.js';
import { type Choices, type Random, Weighted } from '../../shared/random.js';

/** A sender of requests, its address, and its purpose. */
export interface DemoClient {
  env: string;
  /** Null for anonymous clients. */
  consumer: ConsumerRecord | null;
  address: string;
  country: string | null;
  userAgent: string;
  /** Null for clients that request unknown routes. */
  endpoint: DemoEndpoint | null;
}

const BROWSERS: Choices<string> = [
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36',
  'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1 Safari/605.1.15',
  'Mozilla/5.0 (X11; Linux x86_64; rv:133.0) Gecko/20100101 Firefox/133.0',
  'Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1 Mobile/15E148 Safari/604.1',
];
const SCANNERS: Choices<string> = ['curl/8.9.1', 'python-requests/2.27.1', 'Mozilla/5.0 zgrab/0.x', '-'];

const ANY_ENDPOINT = new Weighted(ENDPOINTS.map((endpoint) => [endpoint, endpoint.weight]));
const OPEN_ENDPOINT = new Weighted(
  ENDPOINTS.filter(({ isOpen }) => isOpen).map((endpoint) => [endpoint, endpoint.weight]),
);

type Make = (random: Random, day: number) => DemoClient;

const KINDS = new Weighted<Make>([
  [customer, 75],
  [guest, 14],
  [developer, 8],
  [stranger, 3],
]);

/** @param day days since the sample's first day */
export function pickClient(random: Random, day: number): DemoClient {
  return KINDS.pick(random)(random, day);
}

function customer(random: Random, day: number): DemoClient {
  const consumer = pickConsumer(random, day);
  return consumer ? toClient('prod', consumer, random) : guest(random);
}

function developer(random: Random): DemoClient {
  return {
    ...toClient('dev', pickDeveloper(random), random),
    address: pickInternalAddress(random),
    country: null,
  };
}

function guest(random: Random): DemoClient {
  return { ...anonymous(random), userAgent: random.pick(BROWSERS), endpoint: OPEN_ENDPOINT.pick(random) };
}

function stranger(random: Random): DemoClient {
  return { ...anonymous(random), userAgent: random.pick(SCANNERS), endpoint: null };
}

function toClient(
  env: string,
  { record, addresses, place, userAgent }: DemoConsumer,
  random: Random,
): DemoClient {
  const isFaithful = DEPRECATED.callers.includes(record.identifier) && random.chance(DEPRECATED.share);
  return {
    env,
    consumer: record,
    address: random.pick(addresses),
    country: place.country,
    userAgent,
    endpoint: isFaithful ? DEPRECATED.endpoint : ANY_ENDPOINT.pick(random),
  };
}

function anonymous(random: Random) {
  const place = pickPlace(random);
  return { env: 'prod', consumer: null, address: pickAddress(random, place), country: place.country };
}
