/** The output of a rule for the characters up to `end`. */
interface Conversion {
  readonly text: string;
  readonly end: number;
}
type Rule = (path: string, at: number) => Conversion | undefined;

/** `{id}`, `{id:int}`, `{id:[0-9]+}`, `{id?}`, `{id=1}`, `{*rest}`: the text between the braces. */
const NAMED = /^\*{0,2}([A-Za-z_$][\w.$-]*)\??(?:[:=][^]*)?$/;
/** Braces that are an optional part of an Express 5 path: `{/:id}` or `{.:format}`. */
const OPTIONAL_PART = /^\/|(?:^|[^\w(?]):[A-Za-z_]/;
/** Braces after a parameter with its regular expression, as in Hono's `:id{[0-9]+}`. */
const EXPRESSION = /[[\]\\+*()|^$]/;
const COLON_NAME = /:([A-Za-z_$][\w$]*)/y;
const ANGLED = /<(?:[^<>/]*:)?([A-Za-z_]\w*)>/y;
const BRACKETED = /\[{1,2}(?:\.{3})?([A-Za-z_$][\w$-]*)(?:=[\w$-]+)?\]{1,2}/y;
/** The beginning of a named group of a regular expression. */
const GROUP = /\(\?P?<([A-Za-z_]\w*)>/y;
/**
 * The beginning of a non-capturing group. It is a part of the path, often an optional one, unless it has
 * alternatives.
 */
const NON_CAPTURING_GROUP = '(?:';
/** A colon after one of these is part of a name, as in `/v1/users:batchGet`. */
const WITHIN_NAME = /[\w})\]>]/;
/** Characters that begin no rule. */
const PLAIN = /[^{:<[(]+/y;

const RULES = new Map<string, Rule>([
  ['{', fromBraces],
  [':', fromColon],
  ['<', (path, at) => named(ANGLED, path, at)],
  ['[', (path, at) => named(BRACKETED, path, at)],
  ['(', fromGroup],
]);

/**
 * A route in the spelling of the common frameworks with each parameter as its name in braces: `/users/:id`,
 * `/users/:id(\d+)`, `/users/<int:id>`, `/users/[id]`, `/users/{id:int}`, `/users/(?P<id>\d+)` all become
 * `/users/{id}`. Optional parts are kept, wildcards and everything else stay unchanged.
 */
export function convertRouteSyntax(path: string): string {
  let text = '';
  let at = 0;
  while (at < path.length) {
    const piece = RULES.get(path.charAt(at))?.(path, at) ?? plain(path, at);
    text += piece.text;
    at = piece.end;
  }
  return text;
}

/** Literal text up to the next possible rule, at least one character. */
function plain(path: string, at: number): Conversion {
  PLAIN.lastIndex = at + 1;
  const end = PLAIN.test(path) ? PLAIN.lastIndex : at + 1;
  return { text: path.slice(at, end), end };
}

function fromBraces(path: string, at: number): Conversion | undefined {
  const end = closing(path, at, '{', '}');
  if (end === undefined) return undefined;
  const inner = path.slice(at + 1, end - 1);
  const name = NAMED.exec(inner)?.[1];
  if (name !== undefined) return { text: `{${name}}`, end };
  return { text: OPTIONAL_PART.test(inner) ? convertRouteSyntax(inner) : path.slice(at, end), end };
}

function fromColon(path: string, at: number): Conversion | undefined {
  if (WITHIN_NAME.test(path.charAt(at - 1))) return undefined;
  const piece = named(COLON_NAME, path, at);
  return piece && { text: piece.text, end: afterModifiers(path, piece.end) };
}

function fromGroup(path: string, at: number): Conversion | undefined {
  const close = closing(path, at, '(', ')');
  if (close === undefined) return undefined;
  const end = afterQuantifier(path, close);
  const parameter = named(GROUP, path, at);
  if (parameter) return { ...parameter, end };
  if (!path.startsWith(NON_CAPTURING_GROUP, at)) return undefined;
  const text = convertRouteSyntax(path.slice(at + NON_CAPTURING_GROUP.length, close - 1));
  return { text: text.includes('|') ? path.slice(at, end) : text, end };
}

/**
 * The offset after a parameter's regular expression, in parentheses or braces, and after its `?`, `*` or `+`.
 */
function afterModifiers(path: string, at: number): number {
  const braced = closing(path, at, '{', '}');
  const inBraces = path.slice(at + 1, braced);
  const isExpression = EXPRESSION.test(inBraces) && !OPTIONAL_PART.test(inBraces);
  return afterQuantifier(path, closing(path, at, '(', ')') ?? (isExpression ? braced : undefined) ?? at);
}

function afterQuantifier(path: string, at: number): number {
  return /[?*+]/.test(path.charAt(at)) ? at + 1 : at;
}

/**
 * The offset after the bracket that closes the bracket at `at`; undefined if there is none or it is unclosed.
 */
function closing(path: string, at: number, open: string, close: string): number | undefined {
  let depth = 0;
  for (let i = at; i < path.length; i++) {
    if (path[i] === '\\') i++;
    else if (path[i] === open) depth++;
    else if (path[i] === close) depth--;
    if (depth === 0) return path[i] === close ? i + 1 : undefined;
  }
  return undefined;
}

function named(shape: RegExp, path: string, at: number): Conversion | undefined {
  shape.lastIndex = at;
  const name = shape.exec(path)?.[1];
  return name === undefined ? undefined : { text: `{${name}}`, end: shape.lastIndex };
}
