/**
 * Names of values that are credentials, as the ends of canonical names: `access_token`, `clientSecret`, `X-Api-Key`,
 * `user[password]`.
 */
const CREDENTIALS = [
  'pass_?words?',
  'passwd',
  'pwd',
  'pass_?phrase',
  'pass_?code',
  'password_?confirm(?:ation)?',
  'secrets?',
  'token',
  '(?:api|access|private|secret|signing|encryption|account|shared)_?keys?',
  'authorization',
  'cookies?',
  'credentials?',
  'signature',
  'jwt',
  'sess(?:ion)?_?id',
  'card_?number',
];
/** The same for names that other names end with (`author`, `design`, `otp`): whole words. */
const CREDENTIAL_WORDS = ['auth', 'bearer', 'sig', 'otp', 'sid', 'cvv', 'cvc', 'ccv', 'ssn'];
/** A parameter of a URL alone: members of bodies are called so for other reasons. */
export const PARAMETER_WORDS = ['key'];

/** Part of every name or of the text beside it, in any case: what has none of them is no credential. */
export const NAME_HINTS = [
  'pass',
  'pwd',
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
  // A pattern that begins with a look behind takes three times as long.
  '(?:s(?:ig|id|sn)|otp|c(?:vv|vc|cv))(?![a-z])',
];

const MAX_NAME = 128;
const MAX_REMEMBERED = 5_000;

/** Names whose values are redacted: those of credentials, and more. */
export class SecretNames {
  private readonly pattern: RegExp;
  private readonly exceptions: ReadonlySet<string>;
  private readonly known = new Map<string, boolean>();

  /**
   * @param words further names, as whole words at the end of a name: `email` also means `customerEmail`
   * @param exceptions names that are not redacted
   */
  constructor(words: readonly string[], exceptions: readonly string[]) {
    const all = [...CREDENTIAL_WORDS, ...words.map(canonicalName)].filter((word) => word !== '');
    this.pattern = new RegExp(`(?:${CREDENTIALS.join('|')}|(?:^|_)(?:${all.join('|')}))$`, 'u');
    this.exceptions = new Set(exceptions.map(canonicalName));
  }

  has(name: string): boolean {
    const known = this.known.get(name);
    if (known !== undefined) return known;
    const canonical = canonicalName(name);
    const isSecret = this.pattern.test(canonical) && !this.exceptions.has(canonical);
    if (name.length > MAX_NAME) return isSecret;
    if (this.known.size === MAX_REMEMBERED) this.known.clear();
    this.known.set(name, isSecret);
    return isSecret;
  }
}

/** In lower case, words separated by one underscore each, without digits at the end: `X-Api-Key`, `apiKey2` → `api_key`. */
export function canonicalName(name: string): string {
  return name
    .slice(-MAX_NAME)
    .replace(/(?<=[\p{Ll}\p{N}])(?=\p{Lu})/gu, '_')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, '_')
    .replace(/[_\d]+$/, '');
}
