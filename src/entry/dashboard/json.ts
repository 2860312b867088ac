/** A piece of formatted JSON. */
export interface Token {
  kind: 'key' | 'string' | 'number' | 'word' | 'masked' | 'plain';
  text: string;
}

const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g;
const MASKED = /^"?\*{3,}"?$/;

/** Whether a client library or the service replaced a secret by this text. */
export function isMasked(text: string): boolean {
  return MASKED.test(text);
}

/** A body as it was sent. A text that is not JSON is stored as a JSON string. */
export function toSentBody(json: string, headers: readonly (readonly string[])[]): string {
  const type = headers.find(([name = '']) => name.toLowerCase() === 'content-type')?.[1] ?? '';
  return json.startsWith('"') && !/json/i.test(type) ? (JSON.parse(json) as string) : json;
}

/** Formats a JSON text and keeps its numbers as they are written; null if it is not JSON. */
export function formatJson(text: string): Token[] | null {
  try {
    JSON.parse(text);
  } catch {
    return null;
  }
  const words = text.match(TOKEN) ?? [];
  const tokens: Token[] = [];
  let depth = 0;
  const plain = (word: string) => tokens.push({ kind: 'plain', text: word });
  const breakLine = () => plain(`\n${'  '.repeat(depth)}`);
  words.forEach((word, index) => {
    const next = words[index + 1];
    if (word === '{' || word === '[') {
      plain(word);
      depth += 1;
      if (next !== '}' && next !== ']') breakLine();
    } else if (word === '}' || word === ']') {
      depth -= 1;
      const before = words[index - 1];
      if (before !== '{' && before !== '[') breakLine();
      plain(word);
    } else if (word === ',') {
      plain(word);
      breakLine();
    } else if (word === ':') plain(': ');
    else tokens.push({ kind: classifyWord(word, next === ':'), text: word });
  });
  return tokens;
}

function classifyWord(word: string, isKey: boolean): Token['kind'] {
  if (isKey) return 'key';
  if (isMasked(word)) return 'masked';
  if (word.startsWith('"')) return 'string';
  return /^[-\d]/.test(word) ? 'number' : 'word';
}
