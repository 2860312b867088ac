import type { IncomingBody } from '../../platform/http/request-body.js';
import type { Disconnectable } from '../../platform/http/abort-signal.middleware.js';

/** What a sender sends, by HTTP or by gRPC: the parts of an Express request that say it. */
export type SenderRequest = IncomingBody & {
  /** The address of the client, behind the proxies that are trusted. */
  readonly ip?: string | undefined;
  readonly res?: Disconnectable | undefined;
  /** Where it came; by gRPC the path of the call. */
  readonly route?: { readonly path: string };
};
