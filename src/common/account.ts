import 'express';

export type Plan = 'free' | 'premium';

/** Who is asking: the team behind a valid API key. Made by the API-key guard alone. */
export interface Account {
  readonly teamId: number;
  readonly teamName: string;
  /** Only `premium` may use the API: another plan's requests are counted, then refused. */
  readonly plan: Plan;
  /** The key's public part, the seven characters before the dot; safe to log. */
  readonly keyIdentifier: string;
}

declare module 'express-serve-static-core' {
  interface Request {
    /** Set once the API key was found valid. */
    account?: Account;
  }
}
