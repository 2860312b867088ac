const QUOTE = '"'.charCodeAt(0);
const BACKSLASH = '\\'.charCodeAt(0);
const [OPENING_BRACKET, CLOSING_BRACKET] = ['['.charCodeAt(0), ']'.charCodeAt(0)];
const [OPENING_BRACE, CLOSING_BRACE] = ['{'.charCodeAt(0), '}'.charCodeAt(0)];
const [COLON, COMMA] = [':'.charCodeAt(0), ','.charCodeAt(0)];
/** White space between tokens (RFC 8259, section 2). */
const SPACE = ' '.charCodeAt(0);
/** A number or a word, which may be cut off at the end of the text. */
const BARE = /-?\d[\d.eE+-]*|true|false|null|(?:-|t(?:ru?)?|f(?:a(?:ls?)?)?|n(?:ul?)?)$/y;

/** Members of an object that is a pair, as HAR, forms and attributes of OTLP write them: `{"name": "password", "value": "x"}`. */
const PAIR_NAME = /^(?:name|key)$/i;
const PAIR_VALUE = /^value$/i;

/** What to do with the scalars of a JSON text; each member and item has a state, made of the state that it is in. */
export interface ScalarRewriter<State> {
  /** The state of a member, by its name, or of an item, by its index. */
  enter(state: State, step: string | number): State;
  /** Whether a string, with its quotes and escapes, may have to be rewritten. */
  mayRewrite(raw: string, state: State): boolean;
  /** The text of a decoded string, or the same text. */
  rewriteString(text: string, state: State): string;
  /** Whether the text is a name of which the value is rewritten, where both are members of a pair and the name comes first. */
  isPairName(text: string): boolean;
  /** A number, `true`, `false` or `null` as JSON, or what replaces it. */
  rewriteBare(raw: string, state: State): string;
}

interface Container<State> {
  readonly isArray: boolean;
  readonly state: State;
  /** The state of the current member or item. */
  inner: State;
  index: number;
  /** Whether the current member is the name of a pair. */
  isPairName: boolean;
  /** The name of the pair, if its value is rewritten. */
  pairName?: string;
}

/**
 * The JSON text with rewritten scalars; every other byte stays the same. A text that ends too early is rewritten up to its end,
 * one that begins too late from its beginning, and several values may follow each other. A name may stand wherever a value may:
 * a line of an object has no braces, and a dictionary of Swift has brackets. Needs no stack, however deep the text is.
 *
 * @returns undefined if the text is not JSON
 */
export function rewriteScalars<State>(
  text: string,
  root: State,
  rewriter: ScalarRewriter<State>,
): string | undefined {
  const containers: Container<State>[] = [];
  const outermost: Container<State> = {
    isArray: false,
    state: root,
    inner: root,
    index: 0,
    isPairName: false,
  };
  let current = outermost;
  let rewritten = '';
  let done = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code <= SPACE || code === COLON) continue;
    if (code === COMMA) {
      if (current.isArray) current.inner = rewriter.enter(current.state, ++current.index);
      else if (current === outermost) current.inner = root;
    } else if (code === OPENING_BRACE || code === OPENING_BRACKET) {
      const state = current.inner;
      const isArray = code === OPENING_BRACKET;
      current = {
        isArray,
        state,
        inner: isArray ? rewriter.enter(state, 0) : state,
        index: 0,
        isPairName: false,
      };
      containers.push(current);
    } else if (code === CLOSING_BRACE || code === CLOSING_BRACKET) {
      containers.pop();
      current = containers.at(-1) ?? outermost;
      // What follows is another value.
      if (current === outermost) current.inner = root;
    } else if (code === QUOTE) {
      const end = findClosingQuote(text, at);
      const raw = text.slice(at, end + 1);
      if (isName(text, end + 1)) {
        const name = decode(raw);
        if (name === undefined) return undefined;
        current.inner = rewriter.enter(current.state, name);
        current.isPairName = PAIR_NAME.test(name);
        if (current.pairName !== undefined && PAIR_VALUE.test(name))
          current.inner = rewriter.enter(current.inner, current.pairName);
      } else if (rewriter.mayRewrite(raw, current.inner)) {
        const decoded = decode(raw);
        if (decoded === undefined) return undefined;
        if (current.isPairName && current !== outermost && rewriter.isPairName(decoded))
          current.pairName = decoded;
        const replacement = rewriter.rewriteString(decoded, current.inner);
        if (replacement !== decoded) {
          rewritten += text.slice(done, at) + JSON.stringify(replacement);
          done = Math.min(end + 1, text.length);
        }
      }
      at = end;
    } else {
      BARE.lastIndex = at;
      const raw = BARE.exec(text)?.[0];
      if (raw === undefined) return undefined;
      const replacement = rewriter.rewriteBare(raw, current.inner);
      if (replacement !== raw) {
        rewritten += text.slice(done, at) + replacement;
        done = at + raw.length;
      }
      at += raw.length - 1;
    }
  }
  return done === 0 ? text : rewritten + text.slice(done);
}

/** The offset of the quote that ends the string; the end of the text if there is none. */
function findClosingQuote(text: string, at: number): number {
  for (let quote = text.indexOf('"', at + 1); quote !== -1; quote = text.indexOf('"', quote + 1)) {
    let backslashes = 0;
    while (text.charCodeAt(quote - 1 - backslashes) === BACKSLASH) backslashes++;
    if (backslashes % 2 === 0) return quote;
  }
  return text.length;
}

/** The text of a string; of one without an end, what is there. Undefined if it is not a JSON string. */
function decode(raw: string): string | undefined {
  const isClosed = raw.length > 1 && findClosingQuote(raw, 0) === raw.length - 1;
  if (!raw.includes('\\')) return isClosed ? raw.slice(1, -1) : raw.slice(1);
  // An escape that is cut off is left out.
  const closed = isClosed ? raw : `${raw.replace(/\\(?:u[\da-fA-F]{0,3})?$/, '')}"`;
  try {
    return JSON.parse(closed) as string;
  } catch {
    return undefined;
  }
}

/** Whether a colon follows: then the string before it is the name of a member. */
function isName(text: string, at: number): boolean {
  let next = at;
  while (text.charCodeAt(next) <= SPACE) next++;
  return text.charCodeAt(next) === COLON;
}
