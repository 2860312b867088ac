import { randomUUID } from 'node:crypto';

/** A `sync` of now; say only what the test is about. */
export function buildSync(overrides: object = {}) {
  return {
    timestamp: Date.now() / 1000,
    instance_uuid: randomUUID(),
    message_uuid: randomUUID(),
    requests: [buildCount()],
    validation_errors: [],
    server_errors: [],
    consumers: [],
    resources: null,
    ...overrides,
  };
}

/** An entry of `requests` in a `sync`. */
export function buildCount(overrides: object = {}) {
  return {
    consumer: null,
    method: 'GET',
    path: '/users/:id',
    status_code: 200,
    request_count: 1,
    request_size_sum: 0,
    response_size_sum: 0,
    response_times: { '0': 1 },
    request_sizes: {},
    response_sizes: {},
    ...overrides,
  };
}

/** A line of a log file, a request of a minute ago in camel case. */
export function buildLogItem({ request = {}, response = {}, ...overrides }: Record<string, unknown> = {}) {
  return {
    uuid: randomUUID(),
    request: {
      timestamp: Math.round(Date.now() - 60_000) / 1000,
      method: 'GET',
      path: '/users/:id',
      url: 'https://api.example.com/users/7',
      headers: [],
      ...(request as object),
    },
    response: { statusCode: 200, responseTime: 0.012, headers: [], ...(response as object) },
    ...overrides,
  };
}
