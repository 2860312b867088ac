import type { RequestRecord } from '../../../records/request-record.js';

/** A request parsed from its line; the importer adds the other members. */
export type ParsedRequest = Omit<RequestRecord, 'request_uuid' | 'env'> & {
  request_uuid: string | null;
  env: string | null;
};

/**
 * A line's request with the names of its invalid optional members, or the one-line reason why the line is
 * invalid.
 */
export type LineResult =
  { readonly record: ParsedRequest; readonly ignored: readonly string[] } | { readonly reason: string };

/** Options for all lines of a source. */
export interface ParseOptions {
  /** Whole milliseconds by which all times of a request are shifted, including captured ones; default 0. */
  shiftMs?: number | undefined;
  /** Scheme, host, port and leading path of the app: the base of URLs that consist of a path. */
  baseUrl?: string | undefined;
  /** The field of the access log with the consumer; by default no field. */
  consumerFrom?: 'user' | undefined;
  /**
   * Whether the client is the first public address that proxies named, even if the log has its own public
   * address.
   */
  trustForwarded?: boolean | undefined;
}

/** Resolves a request target with the base URL; complete URLs, and `*`, stay unchanged. */
export function toFullUrl(url: string, baseUrl: string | undefined): string {
  return baseUrl !== undefined && url.startsWith('/') ? baseUrl + url : url;
}

/** The rule for base URLs, as text of an error message. */
export const BASE_URL_RULE = 'must be an http or https URL of scheme, host, port and path';

/**
 * A base URL without a trailing slash, because paths begin with a slash; null if the text is not a base URL.
 */
export function parseBaseUrl(text: string): string | null {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (!url || !/^https?:$/.test(url.protocol) || url.username || url.password || url.search || url.hash)
    return null;
  return `${url.origin}${url.pathname}`.replace(/\/$/, '');
}
