import type {} from 'express';

export type Plan = 'free' | 'premium';

/** The operations of the API, by their IDs in the OpenAPI document. */
export const OPERATIONS = [
  'getTeam',
  'listApps',
  'listEndpoints',
  'listConsumers',
  'getRequestLogs',
  'getRequestDetails',
  'exportRequestLogs',
  'getTraffic',
  'queryMetrics',
  'queryTraces',
  'explainChange',
  'queryErrors',
  'listInstances',
  'listReleases',
  'getPrometheusMetrics',
  'getRequestLogFacets',
  'listAlerts',
] as const;

export type OperationId = (typeof OPERATIONS)[number];

/** What a key may read of its team's data, and how often (docs/contract.md#key-scopes). */
export interface KeyScopes {
  /** Empty: all apps of the team. */
  readonly appIds: readonly number[];
  /** `OperationId`s, possibly of another version; empty: all. */
  readonly operations: readonly string[];
  /** Whether headers and bodies of requests are shown. */
  readonly hasBodies: boolean;
  /** The identifier of the only consumer whose data is shown; null: all data. */
  readonly consumer: string | null;
  /** Null: the configured limit. */
  readonly requestsPerMinute: number | null;
}

/** The scopes of a key that was created without any. */
export const ALL_SCOPES: KeyScopes = {
  appIds: [],
  operations: [],
  hasBodies: true,
  consumer: null,
  requestsPerMinute: null,
};

/** The team of a valid API key. Only `ApiKeyGuard` creates it. */
export interface Account {
  readonly teamId: number;
  readonly teamName: string;
  /** Only `premium` may use the API: requests of other plans are counted, then rejected. */
  readonly plan: Plan;
  /** The key's public part, the seven characters before the dot; safe to log. */
  readonly keyIdentifier: string;
  readonly scopes: KeyScopes;
}

declare module 'express-serve-static-core' {
  interface Request {
    /** Set once the API key is validated. */
    account?: Account;
  }
}
