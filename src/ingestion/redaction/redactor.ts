import { DEFAULT_REDACTION, type RedactionOptions, type SecretForm } from '../../config/redaction.js';
import { toBodyJson } from '../capture.js';
import type { RequestRecord } from '../request-record.js';
import { type JsonPathStep, advancePaths } from './json-path.js';
import { type ScalarRewriter, rewriteScalars } from './json-scalars.js';
import { MASK } from './mask.js';
import { KEY_WORD, NAME_HINTS, SecretNames, canonicalName, isCount } from './secret-names.js';
import {
  FORM_HINTS,
  USER_INFO_HINT,
  isCard,
  redactAssignments,
  redactForms,
  redactNamedValues,
  redactUrlParameters,
} from './secret-texts.js';

const NO_PATHS: ReadonlySet<JsonPathStep> = new Set();
/** Characters of ASCII that JSON or a URL wrote as escapes: hints would not be found in them. */
const ESCAPE_HINTS = ['\\\\u00[2-7]', '%[4-7][\\da-f]'];
const JSON_BEGINNING = /^\s*[{["]/;
/** Headers whose value is one URL, which may have spaces in the logs of servers. */
const URL_HEADER = /^(?:referr?er|(?:content-)?location)$/i;
/** `http.request.header.x-auth-key`: other attributes that end with `key` are of caches, messages and flags. */
const HEADER_ATTRIBUTE = '.header.';
/** JSON within strings of JSON. */
const MAX_NESTED = 8;

/** Where a scalar of a body is: below a name or a path that is redacted, or at a place in paths. */
interface BodyState {
  readonly isSecret: boolean;
  /** The name that makes it a secret; empty if a path does. */
  readonly name: string;
  readonly paths: ReadonlySet<JsonPathStep>;
}

/** Where a scalar of captured data is. */
type CaptureState =
  | { readonly kind: 'root' | 'headers' | 'body' | 'text' | 'own' }
  | { readonly kind: 'pair'; name: string; isValue: boolean }
  | { readonly kind: 'attributes'; readonly state: BodyState };

const ROOT: CaptureState = { kind: 'root' };
const HEADERS: CaptureState = { kind: 'headers' };
const BODY: CaptureState = { kind: 'body' };
const TEXT: CaptureState = { kind: 'text' };
const OWN: CaptureState = { kind: 'own' };
const PLAIN: BodyState = { isSecret: false, name: '', paths: NO_PATHS };
const SECRET: BodyState = { isSecret: true, name: '', paths: NO_PATHS };
const ATTRIBUTES: CaptureState = { kind: 'attributes', state: PLAIN };

/**
 * Replaces secrets by a mask, before anything is stored: every way in passes its records through it. A text that was
 * redacted once stays unchanged when it is redacted again.
 *
 * A value is a secret by its name (of a header, a parameter, a member, an attribute, an element) or by its form. Texts are
 * searched first for a hint that they have any; most have none.
 */
export class Redactor {
  /** Credentials only. */
  static readonly standard = new Redactor(DEFAULT_REDACTION);

  private readonly hints: RegExp;
  private readonly names: SecretNames;
  private readonly headers: SecretNames;
  private readonly attributes: SecretNames;
  private readonly parameters: SecretNames;
  private readonly forms: ReadonlySet<SecretForm>;
  private readonly bodyRoot: BodyState;

  /** @param options null: nothing is redacted */
  constructor(options: RedactionOptions | null) {
    const { headers, queryParameters, jsonPaths, forms, exceptions } = options ?? DEFAULT_REDACTION;
    this.names = new SecretNames([], exceptions);
    this.headers = new SecretNames(headers, exceptions, [KEY_WORD]);
    this.attributes = new SecretNames(headers, exceptions);
    this.parameters = new SecretNames(queryParameters, exceptions, [KEY_WORD]);
    this.forms = new Set(forms);
    this.bodyRoot = { isSecret: false, name: '', paths: new Set(jsonPaths) };
    const further = [...headers, ...queryParameters].map((name) =>
      canonicalName(name).replaceAll('_', '[^a-z0-9]*'),
    );
    const hints = [
      ...NAME_HINTS,
      ...further,
      ...jsonPaths.map(findHint),
      ...forms.flatMap((form) => FORM_HINTS[form]),
      USER_INFO_HINT,
      ...ESCAPE_HINTS,
    ];
    this.hints = options === null ? /(?!)/ : new RegExp(hints.join('|'), 'i');
  }

  /** The record with its URL, path and captured data redacted. */
  redactRequest<R extends Pick<RequestRecord, 'url' | 'path' | 'captured_json'>>(record: R): R {
    const url = this.redactUrl(record.url);
    const path = this.redactPath(record.path);
    const captured_json = this.redactCapture(record.captured_json);
    if (url === record.url && path === record.path && captured_json === record.captured_json) return record;
    return { ...record, url, path, captured_json };
  }

  redactUrl(url: string): string {
    if (!this.hints.test(url)) return url;
    const redacted = redactUrlParameters(url, this.parameters, (value) => this.redactText(value));
    return redactForms(redactAssignments(redacted, this.names), this.forms);
  }

  /** A path or the pattern of one, which is a name of the app: what stands beside a colon in it is no value. */
  redactPath(path: string | null): string | null {
    if (path === null || !this.hints.test(path)) return path;
    return redactForms(
      redactUrlParameters(path, this.parameters, (value) => value),
      this.forms,
    );
  }

  /** Any text: JSON or prose, a stack, a form. */
  redactText(text: string): string {
    return this.redactBody(text, PLAIN, 0);
  }

  /** The JSON text of attributes of a span, or of its events. */
  redactAttributes(json: string): string {
    if (!this.hints.test(json)) return json;
    return rewriteScalars(json, ATTRIBUTES, this.captureRewriter) ?? this.redactPlain(json);
  }

  /** The `captured_json` of a request. */
  private redactCapture(json: string): string {
    if (!this.hints.test(json)) return json;
    const rewritten = rewriteScalars(json, ROOT, this.captureRewriter);
    if (rewritten === undefined) throw new Error('captured_json is not JSON');
    return rewritten;
  }

  private redactHeader(name: string, value: string): string {
    if (value !== '' && this.headers.has(name) && !isCount(name, value)) return MASK;
    return URL_HEADER.test(name) ? this.redactUrl(value) : this.redactText(value);
  }

  private redactBody(text: string, root: BodyState, depth: number): string {
    if (!this.hints.test(text)) return text;
    const rewritten =
      depth < MAX_NESTED && JSON_BEGINNING.test(text)
        ? rewriteScalars(text, root, this.bodyRewriter(depth))
        : undefined;
    return rewritten ?? this.redactPlain(text);
  }

  /** A body that was no JSON is stored as a JSON string, and has its paths as well: it may be cut, or have several documents. */
  private redactStoredBody(json: string): string {
    if (!json.startsWith('"')) return toBodyJson(this.redactBody(json, this.bodyRoot, 0));
    const text = JSON.parse(json) as string;
    const redacted = this.redactBody(text, this.bodyRoot, 0);
    return redacted === text ? json : JSON.stringify(redacted);
  }

  private redactPlain(text: string): string {
    return redactForms(redactNamedValues(text, this.names, this.parameters), this.forms);
  }

  private bodyRewriter(depth: number): ScalarRewriter<BodyState> {
    return {
      enter: (state, step) => this.enterBody(state, step),
      mayRewrite: (raw, { isSecret }) => isSecret || this.hints.test(raw),
      rewriteString: (text, state) =>
        isSecret(text, state) ? MASK : this.redactBody(text, PLAIN, depth + 1),
      isPairName: (text) => this.names.has(text),
      rewriteBare: (raw, state) => this.redactBare(raw, state),
    };
  }

  private enterBody(state: BodyState, step: string | number, names = this.names): BodyState {
    if (state.isSecret) return state;
    const paths = advancePaths(state.paths, step);
    if (paths === null) return SECRET;
    if (typeof step === 'string' && names.has(step)) return { isSecret: true, name: step, paths: NO_PATHS };
    return paths === state.paths ? state : { ...state, paths };
  }

  private redactBare(raw: string, state: BodyState): string {
    const isNumber = /^-?\d/.test(raw);
    return isNumber && (isSecret(raw, state) || (this.forms.has('card') && isCard(raw))) ? `"${MASK}"` : raw;
  }

  private readonly captureRewriter: ScalarRewriter<CaptureState> = {
    enter: (state, step) => this.enterCapture(state, step),
    mayRewrite: (raw, state) =>
      state.kind === 'pair' ||
      (state.kind === 'attributes' && state.state.isSecret) ||
      (state.kind !== 'own' && this.hints.test(raw)),
    rewriteString: (text, state) => {
      if (state.kind === 'pair') {
        if (state.isValue) return this.redactHeader(state.name, text);
        state.name = text;
        return text;
      }
      if (state.kind === 'body') return this.redactStoredBody(text);
      if (state.kind === 'text') return this.redactText(text);
      if (state.kind !== 'attributes') return text;
      return isSecret(text, state.state) ? MASK : this.redactText(text);
    },
    isPairName: (text) => this.attributes.has(text),
    // Numbers of the service's own members are times and lengths.
    rewriteBare: (raw, state) => (state.kind === 'attributes' ? this.redactBare(raw, state.state) : raw),
  };

  private enterCapture(state: CaptureState, step: string | number): CaptureState {
    switch (state.kind) {
      case 'root':
        if (step === 'request_headers' || step === 'response_headers') return HEADERS;
        if (step === 'request_body_json' || step === 'response_body_json') return BODY;
        return TEXT;
      case 'headers':
        return { kind: 'pair', name: '', isValue: false };
      case 'pair':
        state.isValue = step === 1;
        return state;
      case 'text':
        if (step === 'span_id' || step === 'parent_span_id') return OWN;
        return step === 'attributes' ? ATTRIBUTES : state;
      case 'attributes': {
        const isHeader = typeof step === 'string' && step.includes(HEADER_ATTRIBUTE);
        const inner = this.enterBody(state.state, step, isHeader ? this.headers : this.attributes);
        return inner === state.state ? state : { kind: 'attributes', state: inner };
      }
      case 'body':
      case 'own':
        return state;
    }
  }
}

function isSecret(text: string, state: BodyState): boolean {
  return state.isSecret && text !== '' && !isCount(state.name, text);
}

/** A hint for what a path may lead to: its last name. */
function findHint(first: JsonPathStep): string {
  let hint = '';
  for (let step: JsonPathStep | null = first; step !== null; step = step.next) hint = step.name ?? hint;
  return hint.replaceAll(/[^\p{L}\p{N}]+/gu, '[^]{1,12}');
}
