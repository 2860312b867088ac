import type { RequestRecord } from '../../../records/request-record.js';

/** A request as parsed from its line; the importer adds the rest. */
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
  /** Scheme, host, port and leading path of the app: the base of URLs that are only a path. */
  baseUrl?: string | undefined;
  /** The access log field with the consumer; by default none. */
  consumerFrom?: 'user' | undefined;
  /**
   * Whether the first public address that proxies named is the client's, also where the log has a public one
   * of its own.
   */
  trustForwarded?: boolean | undefined;
}

/** Resolves a request target with the base URL; other URLs, and `*`, stay unchanged. */
export function toFullUrl(url: string, baseUrl: string | undefined): string {
  return baseUrl !== undefined && url.startsWith('/') ? baseUrl + url : url;
}

/** The rule for base URLs, as text of an error message. */
export const BASE_URL_RULE = 'must be an http or https URL of scheme, host, port and path';

/** A base URL without a trailing slash, because paths begin with one; null if the text is none. */
export function parseBaseUrl(text: string): string | null {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (!url || !/^https?:$/.test(url.protocol) || url.username || url.password || url.search || url.hash)
    return null;
  return `${url.origin}${url.pathname}`.replace(/\/$/, '');
}
