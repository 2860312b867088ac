import 'express';

export type Plan = 'free' | 'premium';

/** The team of a valid API key. Only `ApiKeyGuard` creates it. */
export interface Account {
  readonly teamId: number;
  readonly teamName: string;
  /** Only `premium` may use the API: requests of other plans are counted, then rejected. */
  readonly plan: Plan;
  /** The key's public part, the seven characters before the dot; safe to log. */
  readonly keyIdentifier: string;
}

declare module 'express-serve-static-core' {
  interface Request {
    /** Set once the API key is validated. */
    account?: Account;
  }
}
