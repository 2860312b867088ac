/** What the words of the page mean, for people who do not measure every day. */
export const WORDS = {
  p50: 'Half of the requests were answered within this time.',
  p95: '95 of 100 requests were answered within this time; the slowest five took longer.',
  apdex:
    'How satisfied users are, from 0 to 1: requests within 500 ms count as 1, up to 2 s as a half, slower ones as 0.',
  errorRate: 'Share of the requests that were answered with 4xx or 5xx.',
  clientErrors: '4xx: the request was wrong, for example the path, the key or the data.',
  serverErrors: '5xx: the application failed.',
  errorConsumers: 'How many customers met the error in this time.',
  firstSeen: 'When it came first, of all that is kept: errors are counted for 13 months.',
  firing: 'The rule is broken, and its receivers know.',
  muted: 'It would fire, but nothing may be told now.',
  pending: 'A window is beyond the limit, but not as many as the rule needs.',
  noData: 'There is nothing to evaluate, or not yet.',
  ok: 'The last windows are within the limit.',
  noRoute: 'Requests for paths that the application does not have, often by scanners.',
  noConsumer: 'Requests whose customer the application did not name.',
} as const;
