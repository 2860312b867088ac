/**
 * Names of values that are credentials, as the ends of canonical names: `access_token`, `clientSecret`,
 * `X-Api-Key`, `user[password]`.
 */
const CREDENTIALS = [
  'pass_?words?',
  'passwd',
  'pwd',
  'pass_?phrase',
  'pass_?code',
  'password_?(?:confirm(?:ation)?|repeat|again|verify|hash|old|new)',
  'secrets?',
  'tokens?',
  '(?:api|access|private|secret|signing|encryption|account|shared|subscription|application|auth|functions|master)_?keys?',
  'authorization',
  'cookies?',
  'credentials?',
  'signature',
  'jwt',
  'sess(?:ion)?_?id',
  'card_?number',
];
/**
 * Names that are credentials only as whole words, because other names end with them (`author`, `design`,
 * `otp`).
 */
const CREDENTIAL_WORDS = [
  'auth',
  'bearer',
  'sig',
  't?otp(?:_?code)?',
  'sid',
  'cvv',
  'cvc',
  'ccv',
  'ssn',
  'pass',
  'pw',
];
/**
 * Credentials only as headers or parameters of URLs: members of bodies have this name for other reasons. The
 * excluded keys look up data and grant no access.
 */
export const KEY_WORD =
  '(?<!(?:^|_)(?:idempotency|idempotent|cache|surrogate|web_?socket|partition|routing|sort|dedup(?:lication)?|public|primary|foreign|object|message|ordering)_?)key';
/** Also the name of counts and of parts of texts: `max_tokens`. */
const PLURAL = /tokens\d*$/i;
/** Tokens are at least this long. */
const MIN_PLURAL = 8;

/** Every name of a credential contains one of these, in any case. */
export const NAME_HINTS = [
  'pass',
  // `pwd`, or `pw` as a word: two characters alone would take longer.
  'pw(?![a-ce-z])',
  'secret',
  'token',
  'key',
  'auth',
  'cookie',
  'credential',
  'signature',
  'jwt',
  'sess',
  'card',
  'bearer',
  // A pattern that begins with a lookbehind takes three times as long.
  '(?:s(?:ig|id|sn)|otp(?:code)?|c(?:vv|vc|cv))(?![a-z])',
];

const MAX_NAME = 128;
const MAX_REMEMBERED = 5_000;

/** Names whose values are redacted: credentials and configured names. */
export class SecretNames {
  private readonly pattern: RegExp;
  private readonly exceptions: ReadonlySet<string>;
  private readonly results = new Map<string, boolean>();

  /**
   * @param words further names, as whole words at the end of a name: `email` also matches `customerEmail`
   * @param exceptions names that are not redacted
   * @param patterns like words, as regular expressions
   */
  constructor(words: readonly string[], exceptions: readonly string[], patterns: readonly string[] = []) {
    const all = [...CREDENTIAL_WORDS, ...patterns, ...words.map(canonicalName)].filter((word) => word !== '');
    this.pattern = new RegExp(`(?:${CREDENTIALS.join('|')}|(?:^|_)(?:${all.join('|')}))$`, 'u');
    this.exceptions = new Set(exceptions.map(canonicalName));
  }

  has(name: string): boolean {
    const result = this.results.get(name);
    if (result !== undefined) return result;
    const canonical = canonicalName(name);
    const isSecret = this.pattern.test(canonical) && !this.exceptions.has(canonical);
    if (name.length > MAX_NAME) return isSecret;
    if (this.results.size === MAX_REMEMBERED) this.results.clear();
    this.results.set(name, isSecret);
    return isSecret;
  }
}

/** Whether a value next to the name of a credential is a count or a part of a text instead. */
export function isCount(name: string, value: string): boolean {
  return PLURAL.test(name) && (value.length < MIN_PLURAL || /^\d+$/.test(value));
}

/**
 * The name in lower case, with words separated by one underscore each, without digits at the end:
 * `X-Api-Key`, `apiKey2` → `api_key`.
 */
export function canonicalName(name: string): string {
  return name
    .slice(-MAX_NAME)
    .normalize('NFKC')
    .replace(/(?<=[\p{Ll}\p{N}])(?=\p{Lu})/gu, '_')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, '_')
    .replace(/[_\d]+$/, '');
}
