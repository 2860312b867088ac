/** Where something was found that must not be there; the line does not show it. */
export interface Finding {
  /** Counted from 1. */
  line: number;
  kind: 'a secret' | 'what has the form of a key';
  text: string;
}

const KEY = /^[A-Za-z0-9]{7}\.([A-Za-z0-9]{32})$/;
const TOKEN = /^apt_[A-Za-z0-9]{24}$/;
const KEYS = /(?<![A-Za-z0-9])(?:[A-Za-z0-9]{7}\.[A-Za-z0-9]{32}|apt_[A-Za-z0-9]{24})(?![A-Za-z0-9])/;
/** The secret part of a key, and the first half of a hash in hexadecimal, have this length. */
const LENGTH = 32;
const LONG_WORDS = new RegExp(`[A-Za-z0-9]{${LENGTH},}`, 'g');
const LONG_WORD = new RegExp(`^[A-Za-z0-9]{${LENGTH},}$`);
/**
 * Drawn at random, 32 letters and digits have more than twice as many different ones; `aaaa…` is what tests
 * pad texts with.
 */
const FEWEST_DIFFERENT = 8;
/** A shorter text would be found by chance. */
const SHORTEST = 6;

/**
 * Finds secrets in outputs, whole or in the parts that matter: of a key its secret part alone, of a hash its
 * first half. Thousands of those are looked for at once. There are few other secrets; they are also found
 * percent-encoded.
 */
export class SecretScanner {
  private readonly words = new Set<string>();
  private readonly texts = new Set<string>();

  constructor(secrets: Iterable<string>) {
    for (const secret of secrets) this.add(secret);
  }

  /** How many are looked for. */
  get size(): number {
    return this.words.size + this.texts.size;
  }

  find(output: string): Finding[] {
    return output.split('\n').flatMap((text, index): Finding[] => {
      const secret = this.inLine(text);
      const found = secret ?? KEYS.exec(text)?.[0];
      if (found === undefined) return [];
      const kind = secret === undefined ? 'what has the form of a key' : 'a secret';
      return [{ line: index + 1, kind, text: masked(text, found) }];
    });
  }

  private add(secret: string) {
    // Found by its form; looking for thousands of texts would take long.
    if (TOKEN.test(secret)) return;
    const word = KEY.exec(secret)?.[1] ?? (LONG_WORD.test(secret) ? secret.slice(0, LENGTH) : undefined);
    if (word !== undefined) {
      if (new Set(word).size >= FEWEST_DIFFERENT) this.words.add(word);
    } else if (secret.length >= SHORTEST) {
      this.texts.add(secret);
      this.texts.add(encodeURIComponent(secret));
    }
  }

  private inLine(line: string): string | undefined {
    for (const text of this.texts) if (line.includes(text)) return text;
    for (const [long] of line.matchAll(LONG_WORDS))
      for (let at = 0; at + LENGTH <= long.length; at++) {
        const word = long.slice(at, at + LENGTH);
        if (this.words.has(word)) return word;
      }
    return undefined;
  }
}

function masked(line: string, secret: string): string {
  const at = line.indexOf(secret);
  return `${line.slice(Math.max(0, at - 80), at)}███${line.slice(at + secret.length, at + secret.length + 80)}`;
}
