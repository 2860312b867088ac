import type { RequestRecord } from './request-record.js';

/** A request as its line gives it; what it does not say of itself, its importer knows. */
export type ParsedRequest = Omit<RequestRecord, 'request_uuid' | 'env'> & {
  request_uuid: string | null;
  env: string | null;
};

/** A line's request, or the one-line reason for which it is none. */
export type LineResult = { readonly record: ParsedRequest } | { readonly reason: string };
