import { findClosingQuote } from '../formats/text.js';

const QUOTE = '"'.charCodeAt(0);
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
  /** Whether the text is a name of which the value is rewritten, where both are members of a pair. */
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
  /** What the current member is, if the object is a pair. */
  pairMember: 'name' | 'value' | undefined;
  /** The name of the pair, if its value is rewritten. */
  pairName: string | undefined;
  /** A scalar that is the value of the pair and may come before the name. */
  pairValue: Scalar<State> | undefined;
}

interface Scalar<State> {
  readonly raw: string;
  readonly at: number;
  readonly state: State;
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
  return new ScalarScanner(text, root, rewriter).rewrite();
}

class ScalarScanner<State> {
  private readonly containers: Container<State>[] = [];
  private readonly outermost: Container<State>;
  private current: Container<State>;
  /** By the offsets of the scalars, which need not be in order. */
  private readonly replacements = new Map<number, { raw: string; by: string }>();

  constructor(
    private readonly text: string,
    private readonly root: State,
    private readonly rewriter: ScalarRewriter<State>,
  ) {
    this.outermost = openContainer(false, root, root);
    this.current = this.outermost;
  }

  rewrite(): string | undefined {
    const { text } = this;
    for (let at = 0; at < text.length; at++) {
      const code = text.charCodeAt(at);
      if (code <= SPACE || code === COLON) continue;
      if (code === COMMA) this.enterNext();
      else if (code === OPENING_BRACE || code === OPENING_BRACKET) this.open(code === OPENING_BRACKET);
      else if (code === CLOSING_BRACE || code === CLOSING_BRACKET) this.close();
      else {
        const end = code === QUOTE ? this.readString(at) : this.readBare(at);
        if (end === undefined) return undefined;
        at = end - 1;
      }
    }
    return this.applyReplacements();
  }

  private enterNext(): void {
    const { current } = this;
    if (current.isArray) current.inner = this.rewriter.enter(current.state, ++current.index);
    else if (current === this.outermost) current.inner = this.root;
  }

  private open(isArray: boolean): void {
    const state = this.current.inner;
    const inner = isArray ? this.rewriter.enter(state, 0) : state;
    this.current = openContainer(isArray, state, inner);
    this.containers.push(this.current);
  }

  private close(): void {
    this.containers.pop();
    this.current = this.containers.at(-1) ?? this.outermost;
    // What follows is another value.
    if (this.current === this.outermost) this.current.inner = this.root;
  }

  /** @returns the offset behind the string; undefined if it is none */
  private readString(at: number): number | undefined {
    const end = findClosingQuote(this.text, at) + 1;
    const raw = this.text.slice(at, end);
    const isRead = isName(this.text, end) ? this.enterMember(raw) : this.readValue(raw, at);
    return isRead ? end : undefined;
  }

  /** @returns whether the name is a string */
  private enterMember(raw: string): boolean {
    const { current, rewriter } = this;
    const name = decode(raw);
    if (name === undefined) return false;
    current.inner = rewriter.enter(current.state, name);
    if (current === this.outermost) return true;
    current.pairMember = PAIR_NAME.test(name) ? 'name' : PAIR_VALUE.test(name) ? 'value' : undefined;
    if (current.pairMember === 'value' && current.pairName !== undefined)
      current.inner = rewriter.enter(current.inner, current.pairName);
    return true;
  }

  /** @returns whether the value is a string, if it had to be looked at */
  private readValue(raw: string, at: number): boolean {
    const { current, rewriter } = this;
    if (current.pairMember === 'name' && rewriter.mayRewrite(raw, current.inner))
      this.readPairName(decode(raw));
    return this.rewriteScalar(raw, at, current.inner);
  }

  private readPairName(name: string | undefined): void {
    const { current, rewriter } = this;
    if (name === undefined || !rewriter.isPairName(name)) return;
    current.pairName = name;
    const value = current.pairValue;
    current.pairValue = undefined;
    if (value) this.rewriteScalar(value.raw, value.at, rewriter.enter(value.state, name));
  }

  /** @returns the offset behind the number or the word; undefined if it is neither */
  private readBare(at: number): number | undefined {
    BARE.lastIndex = at;
    const raw = BARE.exec(this.text)?.[0];
    if (raw === undefined) return undefined;
    this.rewriteScalar(raw, at, this.current.inner);
    return at + raw.length;
  }

  /** @returns false if the scalar had to be looked at, and is a string that cannot be decoded */
  private rewriteScalar(raw: string, at: number, state: State): boolean {
    const { current, rewriter } = this;
    if (current.pairMember === 'value') current.pairValue = { raw, at, state };
    if (raw.charCodeAt(0) !== QUOTE) {
      this.replace(at, raw, rewriter.rewriteBare(raw, state));
      return true;
    }
    if (!rewriter.mayRewrite(raw, state)) return true;
    const decoded = decode(raw);
    if (decoded === undefined) return false;
    const replacement = rewriter.rewriteString(decoded, state);
    if (replacement !== decoded) this.replace(at, raw, JSON.stringify(replacement));
    return true;
  }

  private replace(at: number, raw: string, by: string): void {
    if (by !== raw) this.replacements.set(at, { raw, by });
  }

  private applyReplacements(): string {
    let rewritten = '';
    let done = 0;
    for (const [at, { raw, by }] of [...this.replacements].toSorted(([a], [b]) => a - b)) {
      rewritten += this.text.slice(done, at) + by;
      done = at + raw.length;
    }
    return rewritten + this.text.slice(done);
  }
}

function openContainer<State>(isArray: boolean, state: State, inner: State): Container<State> {
  return {
    isArray,
    state,
    inner,
    index: 0,
    pairMember: undefined,
    pairName: undefined,
    pairValue: undefined,
  };
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
