import { type Steps, finish } from '../../shared/async/slices.js';
import { findClosingQuote } from '../../shared/json/closing-quote.js';
import { Edits } from './edits.js';
import { FORM_SPACE, JSON_ESCAPES, decodeEscapes } from './escapes.js';
import { MASK } from './mask.js';

const QUOTE = '"'.charCodeAt(0);
const [OPENING_BRACKET, CLOSING_BRACKET] = ['['.charCodeAt(0), ']'.charCodeAt(0)];
const [OPENING_BRACE, CLOSING_BRACE] = ['{'.charCodeAt(0), '}'.charCodeAt(0)];
const [COLON, COMMA] = [':'.charCodeAt(0), ','.charCodeAt(0)];
/** White space between tokens (RFC 8259, section 2), also in a URL. */
const [SPACE, URL_SPACE] = [' '.charCodeAt(0), FORM_SPACE.charCodeAt(0)];
/** A number or a word, possibly cut off at the end of the text. */
const BARE = /-?\d[\d.eE+-]*|true|false|null|(?:-|t(?:ru?)?|f(?:a(?:ls?)?)?|n(?:ul?)?)$/y;

/**
 * The name member of an object that is a pair, as in HAR, forms and attributes of OTLP:
 * `{"name": "password", "value": "x"}`.
 */
const PAIR_NAME = /^(?:name|key)$/i;
const PAIR_VALUE = /^value$/i;
/** An option of a command line, whose value is the next item. */
const OPTION = /^--?[\w-]{1,64}$/;
/**
 * The items of a list of names have this form. As the second item of a pair, such a word is a value only
 * within a list of pairs.
 */
const WORD = /^[a-z_-]{1,32}$/i;

/** Depth of nested objects and lists that have their own state, which takes memory. */
const MAX_DEPTH = 10_000;

/** Characters that are read in one step. */
const STEP = 8 * 1024;

/**
 * Finds secrets among the scalars of a JSON text. Each member and item has a state, derived from the state of
 * its object or list.
 */
export interface ScalarVisitor<State> {
  /** The state of a member, by its name, or of an item, by its index. */
  enter(state: State, step: string | number): State;
  /** Whether a string, with its quotes and escapes, may contain secrets. */
  mayHaveSecrets(raw: string, state: State): boolean;
  /** The secrets of a decoded string. */
  findInString(text: string, state: State): Edits;
  /** Whether a number, `true`, `false` or `null` is a secret. */
  isSecretBare(raw: string, state: State): boolean;
  /** Whether the text names a secret, if the name and the value are members or items of a pair. */
  isPairName(text: string): boolean;
}

interface Container<State> {
  readonly isArray: boolean;
  readonly state: State;
  /** The state of the current member or item. */
  inner: State;
  index: number;
  /** The role of the current member, if the object is a pair. */
  pairMember: 'name' | 'value' | undefined;
  /** The name of the pair if its value is a secret; also an item that names the next item. */
  pairName: string | undefined;
  /** A scalar that may be the value of the pair and came before the name. */
  pairValue: Scalar<State> | undefined;
  /** The current item, if it is an option. */
  option: string | undefined;
  /** Items after names. They are secrets if there are as many as names. */
  readonly values: Scalar<State>[];
}

/** The value of a string starts and ends within its quotes. */
interface Scalar<State> {
  readonly isString: boolean;
  readonly start: number;
  readonly end: number;
  readonly state: State;
}

/** The secrets of a JSON text and its end, or the offset at which it is not JSON. */
export type ScannedJson = { readonly found: Edits; readonly end: number } | { readonly failedAt: number };

/**
 * Finds the secrets of a JSON text. It tolerates truncated input at either end, several top-level values,
 * members without braces (a line of an object) and members in brackets (a dictionary of Swift). It uses no
 * recursion, however deep the text is.
 */
export function scanJson<State>(text: string, root: State, visitor: ScalarVisitor<State>): ScannedJson {
  return finish(scanJsonInSteps(text, root, visitor));
}

/** The same in steps: a text may be large, and each of its strings takes time. */
export function scanJsonInSteps<State>(
  text: string,
  root: State,
  visitor: ScalarVisitor<State>,
): Steps<ScannedJson> {
  return new JsonScanner(text, root, visitor).scan(0, false);
}

/** Finds the secrets of the single object or list that begins at an offset of a text. */
export function scanJsonAt<State>(
  text: string,
  at: number,
  root: State,
  visitor: ScalarVisitor<State>,
): ScannedJson {
  return finish(new JsonScanner(text, root, visitor).scan(at, true));
}

class JsonScanner<State> {
  private readonly containers: Container<State>[] = [];
  private readonly outermost: Container<State>;
  private current: Container<State>;
  private readonly found = new Edits();
  /** Number of open objects and lists below the deepest one that has its own state. */
  private deeper = 0;

  constructor(
    private readonly text: string,
    private readonly root: State,
    private readonly visitor: ScalarVisitor<State>,
  ) {
    this.outermost = openContainer(false, root, root);
    this.current = this.outermost;
  }

  *scan(from: number, isPart: boolean): Steps<ScannedJson> {
    const { text, found } = this;
    let stepEnd = from + STEP;
    for (let at = from; at < text.length; at++) {
      if (at >= stepEnd) {
        yield;
        stepEnd = at + STEP;
      }
      const code = text.charCodeAt(at);
      if (isSpace(code) || code === COLON) continue;
      if (code === COMMA) this.enterNext();
      else if (code === OPENING_BRACE || code === OPENING_BRACKET) this.open(code === OPENING_BRACKET);
      else if (code === CLOSING_BRACE || code === CLOSING_BRACKET) {
        this.close();
        if (isPart && this.current === this.outermost) return { found, end: at + 1 };
      } else {
        const end = code === QUOTE ? this.readString(at) : this.readBare(at);
        if (end === undefined) return { failedAt: at };
        at = end - 1;
      }
    }
    return { found, end: text.length };
  }

  private enterNext(): void {
    const { current, visitor } = this;
    if (current.isArray) {
      const item = visitor.enter(current.state, ++current.index);
      current.inner = current.option === undefined ? item : visitor.enter(item, current.option);
      current.option = undefined;
    } else if (current === this.outermost) current.inner = this.root;
  }

  private open(isArray: boolean): void {
    if (this.containers.length === MAX_DEPTH) {
      this.deeper++;
      return;
    }
    const state = this.current.inner;
    const inner = isArray ? this.visitor.enter(state, 0) : state;
    this.current = openContainer(isArray, state, inner);
    this.containers.push(this.current);
  }

  private close(): void {
    if (this.deeper > 0) {
      this.deeper--;
      return;
    }
    const closed = this.containers.pop();
    this.current = this.containers.at(-1) ?? this.outermost;
    if (closed && closed.index % 2 === 1) this.findInPairs(closed.values, this.current.isArray);
    // The next value is another document.
    if (this.current === this.outermost) this.current.inner = this.root;
  }

  private findInPairs(values: readonly Scalar<State>[], isInList: boolean): void {
    for (const value of values)
      if (isInList || !WORD.test(this.text.slice(value.start, value.end))) this.findInScalar(value);
  }

  /** @returns the offset after the string */
  private readString(at: number): number {
    const end = findClosingQuote(this.text, at);
    if (isName(this.text, end + 1)) this.enterMember(this.decode(at + 1, end));
    else this.readValue({ isString: true, start: at + 1, end, state: this.current.inner });
    return end + 1;
  }

  private enterMember(name: string): void {
    const { current, visitor } = this;
    current.inner = visitor.enter(current.state, name);
    if (current === this.outermost) return;
    current.pairMember = PAIR_NAME.test(name) ? 'name' : PAIR_VALUE.test(name) ? 'value' : undefined;
    if (current.pairMember === 'value' && current.pairName !== undefined)
      current.inner = visitor.enter(current.inner, current.pairName);
  }

  /** @returns the offset after the number or the word; undefined if it is neither */
  private readBare(start: number): number | undefined {
    BARE.lastIndex = start;
    if (!BARE.test(this.text)) return undefined;
    const end = BARE.lastIndex;
    this.readValue({ isString: false, start, end, state: this.current.inner });
    return end;
  }

  private readValue(value: Scalar<State>): void {
    const { current } = this;
    const text = this.findInScalar(value);
    if (current.isArray) this.readItem(value, text);
    else if (current.pairMember === 'value') current.pairValue = value;
    else if (current.pairMember === 'name') this.readPairName(text);
  }

  private readPairName(name: string | undefined): void {
    const { current, visitor } = this;
    if (name === undefined || !visitor.isPairName(name)) return;
    const value = current.pairValue;
    current.pairName = name;
    current.pairValue = undefined;
    if (value) this.findInScalar({ ...value, state: visitor.enter(value.state, name) });
  }

  /** Every second item may be the value of the item before it, and the item after an option is its value. */
  private readItem(item: Scalar<State>, text: string | undefined): void {
    const { current, visitor } = this;
    if (current.index % 2 === 1 && current.pairName !== undefined)
      current.values.push({ ...item, state: visitor.enter(item.state, current.pairName) });
    current.pairName = text !== undefined && visitor.isPairName(text) ? text : undefined;
    current.option = text !== undefined && isOption(text) ? text : undefined;
  }

  /** @returns the decoded text of a string that may contain secrets */
  private findInScalar({ isString, start, end, state }: Scalar<State>): string | undefined {
    const { visitor, found } = this;
    const raw = this.text.slice(start, end);
    if (!isString) {
      if (visitor.isSecretBare(raw, state)) found.add(start, end, `"${MASK}"`);
      return undefined;
    }
    if (!visitor.mayHaveSecrets(raw, state)) return undefined;
    const text = this.decode(start, end);
    found.addDecoded(visitor.findInString(text, state), raw, start, JSON_ESCAPES);
    return text;
  }

  private decode(start: number, end: number): string {
    const raw = this.text.slice(start, end);
    if (!raw.includes('\\')) return raw;
    try {
      return JSON.parse(`"${raw}"`) as string;
    } catch {
      return decodeEscapes(raw, JSON_ESCAPES);
    }
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
    option: undefined,
    values: [],
  };
}

/** Whether a colon follows. Then the string before it is the name of a member. */
function isName(text: string, at: number): boolean {
  let next = at;
  while (isSpace(text.charCodeAt(next))) next++;
  return text.charCodeAt(next) === COLON;
}

function isSpace(code: number): boolean {
  return code <= SPACE || code === URL_SPACE;
}

/** `--token`, whose value may be the next item. */
function isOption(text: string): boolean {
  return OPTION.test(text);
}
