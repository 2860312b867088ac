import type { RequestRecord } from '../request-record.js';

/** A request as its line gives it; what it does not say of itself, its importer knows. */
export type ParsedRequest = Omit<RequestRecord, 'request_uuid' | 'env'> & {
  request_uuid: string | null;
  env: string | null;
};

/** A line's request with the names of its optional members that could not be read, or the one-line reason for which it is none. */
export type LineResult =
  { readonly record: ParsedRequest; readonly ignored: readonly string[] } | { readonly reason: string };

/** What is said about all lines of a source. */
export interface ParseOptions {
  /** Whole milliseconds by which all times of a request are moved, those captured with it included; 0 when not given. */
  shiftMs?: number | undefined;
  /** Scheme, host, port and leading path of the app, which complete a URL that is a path alone. */
  baseUrl?: string | undefined;
  /** The access log field with the consumer; none does when not given. */
  consumerFrom?: 'user' | undefined;
}

/** The URL of a request target behind the base URL; any other URL, and `*`, as it stands. */
export function toFullUrl(url: string, baseUrl: string | undefined): string {
  return baseUrl !== undefined && url.startsWith('/') ? baseUrl + url : url;
}
