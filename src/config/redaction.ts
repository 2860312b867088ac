import type { JsonPathStep } from './json-path.js';

/** Kinds of secrets that are recognized by their form. */
export const SECRET_FORMS = ['bearer', 'jwt', 'card'] as const;
export type SecretForm = (typeof SECRET_FORMS)[number];

/** What is redacted in addition to credentials, and the exceptions. */
export interface RedactionOptions {
  /** Names of headers, of parameters of URLs and forms, and paths of members in JSON bodies. */
  headers: readonly string[];
  queryParameters: readonly string[];
  jsonPaths: readonly JsonPathStep[];
  /** Which secrets are recognized by their form. */
  forms: readonly SecretForm[];
  /** Names whose values are never masked. */
  exceptions: readonly string[];
}

export const DEFAULT_REDACTION: RedactionOptions = {
  headers: [],
  queryParameters: [],
  jsonPaths: [],
  forms: SECRET_FORMS,
  exceptions: [],
};
