import type { CapturedException } from '../../../records/capture.js';
import type { Entity } from '../endpoints.js';
import type { DemoRequest } from '../demo-request.js';
import { BROKEN } from '../trouble.js';
import type { Choices, Random } from '../../../shared/random.js';

interface DemoException {
  type: string;
  message: string;
  /** Innermost frames of the shop's own code. */
  frames: readonly string[];
}

const OF_BROKEN: Choices<DemoException> = [
  {
    type: 'TypeError',
    message: "Cannot read properties of undefined (reading 'price')",
    frames: [
      'withDiscount (/app/dist/pricing/discounts.js:41:27)',
      'Array.map (<anonymous>)',
      'PricingService.priceAll (/app/dist/pricing/pricing.service.js:77:19)',
    ],
  },
];
const ANYWHERE: Choices<DemoException> = [
  ...OF_BROKEN,
  {
    type: 'QueryFailedError',
    message: 'canceling statement due to statement timeout',
    frames: [
      'PostgresQueryRunner.query (/app/dist/database/query-runner.js:212:19)',
      'async ProductsRepository.find (/app/dist/products/products.repository.js:58:16)',
    ],
  },
  {
    type: 'RangeError',
    message: 'Invalid time value',
    frames: ['Date.toISOString (<anonymous>)', 'formatEta (/app/dist/shipping/eta.js:19:30)'],
  },
];
const OF_ENTITY: Readonly<Partial<Record<Entity, Choices<DemoException>>>> = {
  order: [
    {
      type: 'QueryFailedError',
      message: 'deadlock detected',
      frames: [
        'PostgresQueryRunner.query (/app/dist/database/query-runner.js:212:19)',
        'async OrdersRepository.insert (/app/dist/orders/orders.repository.js:91:5)',
        'async OrdersService.place (/app/dist/orders/orders.service.js:118:23)',
      ],
    },
  ],
  payment: [
    {
      type: 'PaymentProviderError',
      message: 'connect ECONNREFUSED 10.20.8.14:443',
      frames: [
        'PaymentProvider.charge (/app/dist/payments/payment-provider.js:64:13)',
        'async PaymentsService.pay (/app/dist/payments/payments.service.js:37:20)',
      ],
    },
  ],
};
const FRAMEWORK = [
  'Layer.handleRequest (/app/node_modules/router/lib/layer.js:152:17)',
  'next (/app/node_modules/router/lib/route.js:157:13)',
  'process.processTicksAndRejections (node:internal/process/task_queues:105:5)',
];

/** The unhandled exception of a 500; null for other responses (docs/contract.md#exceptions). */
export function createException(
  random: Random,
  { status_code, entity, method, path }: DemoRequest,
): CapturedException | null {
  if (status_code !== 500 || entity === null) return null;
  const isOfBroken = method === BROKEN.method && path === BROKEN.path;
  const { type, message, frames } = random.pick(isOfBroken ? OF_BROKEN : (OF_ENTITY[entity] ?? ANYWHERE));
  const lines = [...frames, ...FRAMEWORK].map((frame) => `    at ${frame}`);
  return {
    type,
    message,
    stacktrace: [`${type}: ${message}`, ...lines].join('\n'),
    tracker_event_id: random.chance(0.6) ? random.hex(32) : null,
  };
}
