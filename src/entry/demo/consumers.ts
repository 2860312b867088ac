import type { ConsumerRecord } from '../../records/request-record.js';
import { type AddressBlock, pickAddress, pickPlace } from './ip-ranges.js';
import { type Choices, Random, Weighted } from '../../shared/random.js';

/** A known caller of the shop's API. */
export interface DemoConsumer {
  record: ConsumerRecord;
  /** Days after the sample's first day until its first request. */
  joinedOnDay: number;
  place: AddressBlock;
  /** The addresses of its requests. */
  addresses: Choices<string>;
  userAgent: string;
}

const FIRST_WORDS = [
  'Amber',
  'Birch',
  'Cobalt',
  'Driftwood',
  'Ember',
  'Fernhill',
  'Granite',
  'Harbour',
  'Indigo',
  'Juniper',
  'Kestrel',
  'Lantern',
  'Meadow',
  'Nimbus',
  'Orchard',
  'Pebble',
  'Quarry',
  'Ridgeway',
];
const SECOND_WORDS = ['Outfitters', 'Market', 'Trading'];
const INTERNAL = [
  'storefront-web',
  'mobile-app',
  'warehouse-sync',
  'nightly-reports',
  'qa-suite',
  'back-office',
];
const GROUPS: Choices<string> = ['Enterprise', 'Business', 'Starter', 'Partners'];
const CLIENTS: Choices<string> = [
  'axios/1.7.9',
  'python-requests/2.32.3',
  'okhttp/4.12.0',
  'Go-http-client/2.0',
  'GuzzleHttp/7',
  'Shop-SDK-Node/3.2.1',
  'Shop-SDK-Python/2.4.0',
  'Apache-HttpClient/5.3.1 (Java/21.0.4)',
];
/** Most consumers exist from the start; the others join one after the other. */
const PRESENT_FROM_START = 36;
const DAYS_BETWEEN_JOINS = 14;

const COMPANIES = SECOND_WORDS.flatMap((second) => FIRST_WORDS.map((first) => `${first} ${second}`));
const IDENTITIES: readonly ConsumerRecord[] = [
  ...INTERNAL.slice(0, 3),
  ...COMPANIES,
  ...INTERNAL.slice(3),
].map(createIdentity);

/** Some sixty, the busiest first. */
const CONSUMERS: readonly DemoConsumer[] = IDENTITIES.map((record, index) => {
  const random = new Random(index);
  const place = pickPlace(random);
  return {
    record,
    joinedOnDay: Math.max(0, index - PRESENT_FROM_START + 1) * DAYS_BETWEEN_JOINS,
    place,
    addresses: [pickAddress(random, place), pickAddress(random, place), pickAddress(random, place)],
    userAgent: random.pick(CLIENTS),
  };
});

/** A few consumers are very busy and many send hardly any requests (Zipf's law). */
const BY_POPULARITY = new Weighted(CONSUMERS.map((consumer, index) => [consumer, 1 / (index + 2) ** 0.95]));
/** Consumers that use the development environment. */
const IN_DEVELOPMENT = new Weighted(
  CONSUMERS.filter(({ record }) => record.group === 'Internal').map((consumer) => [consumer, 1]),
);

/**
 * @param day days since the sample's first day
 * @returns undefined if the picked consumer has not joined yet
 */
export function pickConsumer(random: Random, day: number): DemoConsumer | undefined {
  const consumer = BY_POPULARITY.pick(random);
  return consumer.joinedOnDay <= day ? consumer : undefined;
}

export function pickDeveloper(random: Random): DemoConsumer {
  return IN_DEVELOPMENT.pick(random);
}

/** Not every consumer has a name or a group. */
function createIdentity(name: string, index: number): ConsumerRecord {
  if (INTERNAL.includes(name)) return { identifier: name, group: 'Internal' };
  const identifier = name.toLowerCase().replace(' ', '-');
  const group = index % 9 === 5 ? {} : { group: GROUPS[index % GROUPS.length] ?? GROUPS[0] };
  return index % 11 === 7 ? { identifier, ...group } : { identifier, name, ...group };
}
