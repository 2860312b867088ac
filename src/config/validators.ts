import { accessSync, constants } from 'node:fs';
import { isIP } from 'node:net';
import { EnvError, bool, makeValidator } from 'envalid';
import { type JsonPathStep, parseJsonPath } from './json-path.js';
import { SECRET_FORMS, type SecretForm } from './redaction.js';

/** A larger number is a mistake: with one hop too many, clients can forge their address. */
const MAX_HOPS = 10;
const NETWORKS = new Set(['loopback', 'linklocal', 'uniquelocal']);
const MAX_REDACTED_NAME = 128;
const MIN_SECRET_LENGTH = 32;
const MAX_PORT = 65_535;

export const whole = (min: number, max: number) =>
  makeValidator<number>((input) => {
    const value = /^\d+$/.test(input) ? Number(input) : NaN;
    if (!(value >= min && value <= max)) throw new EnvError(`must be a whole number from ${min} to ${max}`);
    return value;
  });

/** A port, or `off`. */
export const portOrOff = makeValidator<number | 'off'>((input) => {
  if (input === 'off') return input;
  const value = /^\d+$/.test(input) ? Number(input) : NaN;
  if (!(value >= 1 && value <= MAX_PORT)) throw new EnvError(`must be off, or a port from 1 to ${MAX_PORT}`);
  return value;
});

/** A URL that may contain a password, so errors do not repeat it. */
export const address = (...schemes: readonly string[]) =>
  makeValidator<string>((input) => {
    if (URL.canParse(input) && schemes.includes(new URL(input).protocol)) return input;
    throw new EnvError(
      `must be a URL that begins with ${schemes.map((scheme) => `${scheme}//`).join(' or ')}`,
    );
  });

/**
 * An address for links, without a slash at the end. Its form as a URL has no quotes, so it can be an
 * attribute of a page.
 */
export const webAddress = makeValidator<string>((input) => {
  const url = URL.canParse(input) ? new URL(input) : undefined;
  if (url && /^https?:$/.test(url.protocol) && url.search + url.hash + url.username + url.password === '')
    return url.href.replace(/\/+$/, '');
  throw new EnvError('must be a URL such as https://acme.sentry.io, without a query or a password');
});

/**
 * `TRUST_PROXY` as Express reads it: `false`, `true`, a number of hops, or a list of addresses and subnets.
 */
export const trustProxy = makeValidator<boolean | number | string>((input) => {
  if (input === 'true' || input === 'false') return bool()._parse(input);
  if (/^\d+$/.test(input) && Number(input) <= MAX_HOPS) return Number(input);
  if (input.split(',').every((item) => isNetwork(item.trim()))) return input;
  throw new EnvError(
    `must be true, false, a number of hops up to ${MAX_HOPS}, or a list of addresses and subnets`,
  );
});

export const readableFile = makeValidator<string>((input) => {
  try {
    accessSync(input, constants.R_OK);
    return input;
  } catch {
    throw new EnvError('must name a file that can be read');
  }
});

/** Origins as a browser sends them (`https://app.example.com`), separated by commas; `*`: all. */
export const origins = makeValidator<readonly string[]>((input) => {
  const items = input.split(',').map((item) => item.trim());
  if (input === '*' || items.every((item) => URL.canParse(item) && new URL(item).origin === item))
    return items;
  throw new EnvError('must be *, or origins such as https://app.example.com, separated by commas');
});

/** A path prefix, such as `/analytics`. Its segments need no escapes in a URL or in a route. */
export const pathPrefix = makeValidator<string>((input) => {
  if (/^(?:\/(?!\.{1,2}(?:\/|$))[\w.~-]+)*$/.test(input)) return input;
  throw new EnvError('must be a path such as /analytics: letters, digits, - . _ ~, and no slash at the end');
});

export const apiKey = makeValidator<string>((input) => {
  if (!/^[A-Za-z0-9]{7}\.[A-Za-z0-9]{32}$/.test(input))
    throw new EnvError('must be 7 letters or digits, a dot, and 32 letters or digits');
  return input;
});

/** Names of headers, parameters or members, separated by commas. */
export const names = makeValidator<readonly string[]>((input) => {
  const items = input.split(',').map((item) => item.trim());
  if (items.every((item) => /[\p{L}\p{N}]/u.test(item) && item.length <= MAX_REDACTED_NAME)) return items;
  throw new EnvError(
    `must be names separated by commas, each with a letter or digit and at most ${MAX_REDACTED_NAME} characters`,
  );
});

export const jsonPaths = makeValidator<readonly JsonPathStep[]>((input) =>
  input.split(',').map((item) => {
    const path = parseJsonPath(item.trim());
    if (!path) throw new EnvError('must be JSON paths such as $.user.ssn, $.cards[*].number or $..iban');
    return path;
  }),
);

export const secretForms = makeValidator<readonly SecretForm[]>((input) => {
  if (input === 'none') return [];
  return input.split(',').map((item) => {
    const form = SECRET_FORMS.find((name) => name === item.trim());
    if (!form) throw new EnvError(`must be none, or some of ${SECRET_FORMS.join(', ')}, separated by commas`);
    return form;
  });
});

export const secret = makeValidator<string>((input) => {
  if (input.trim().length >= MIN_SECRET_LENGTH) return input;
  throw new EnvError(`must have at least ${MIN_SECRET_LENGTH} characters`);
});

/** The secret of Standard Webhooks: 24 to 64 bytes in base64, behind `whsec_`. */
export const webhookSecret = makeValidator<string>((input) => {
  const bytes = /^whsec_[A-Za-z0-9+/]+={0,2}$/.test(input)
    ? Buffer.from(input.slice('whsec_'.length), 'base64').length
    : 0;
  if (bytes >= 24 && bytes <= 64) return input;
  throw new EnvError('must be whsec_ and 24 to 64 bytes in base64');
});

function isNetwork(item: string): boolean {
  if (NETWORKS.has(item)) return true;
  const [address = '', range = '32', ...rest] = item.split('/');
  const kind = isIP(address);
  const isRange = /^\d+$/.test(range)
    ? Number(range) >= 1 && Number(range) <= (kind === 4 ? 32 : 128)
    : isIP(range) === 4;
  return kind !== 0 && isRange && rest.length === 0;
}
