import { DEFAULT_REDACTION, type RedactionOptions, type SecretForm } from '../../config/redaction.js';
import { type Steps, finish } from '../../shared/async/slices.js';
import type { RequestRecord } from '../request-record.js';
import { Edits } from './edits.js';
import { type Escapes, HTML_ESCAPES, JSON_ESCAPES, URL_ESCAPES, decodeEscapes } from './escapes.js';
import { type JsonPathStep, advancePaths } from '../../config/json-path.js';
import { type ScalarVisitor, scanJson, scanJsonAt, scanJsonInSteps } from './json-scalars.js';
import { MarkupScanner } from './markup.js';
import { NamedValues, OPTION_HINTS, type TextNames, isSecretValue, isUserOption } from './named-values.js';
import { KEY_WORD, NAME_HINTS, SecretNames, canonicalName } from './secret-names.js';
import { FORM_HINTS, TEXT_HINTS, findForms, findInStructures, isCard } from './secret-texts.js';
import { findAround } from './text-tools.js';

const NO_PATHS: ReadonlySet<JsonPathStep> = new Set();
/** Hints would not match letters that are escaped by JSON or a URL, or are of full width. */
const ESCAPE_HINTS = ['\\\\u(?:00[2-7]|ff[0-5])', '%(?:25|[4-7][\\da-f]|ef%b)', '[\uFF01-\uFF5E]'];
/** Escapes of HTML and of strings of code within a text. */
const HTML_ESCAPE = /&(?:amp|quot|apos|lt|#x?\d\d);|[\uFF01-\uFF5E]/i;
const CODE_ESCAPE = /\\(?:["'/]|u[\da-f]{4}|x[\da-f]{2}|r\\{1,8}n)/i;
/** Separates parts of a text that were each encoded as a URL; URLs in the logs of servers may have spaces. */
const ENCODED_ENDS = new Set(' \t\r\n"<>&#');
const ENCODED_ENDS_IN_URL = new Set('&#');
const JSON_BEGINNING = /^\s*[{["]/;
/** Headers and attributes whose value is a single URL, which may have spaces in the logs of servers. */
const URL_HEADER = /^(?:referr?er|(?:content-)?location)$/i;
const URL_ATTRIBUTE = /^(?:url\.(?:full|original|query)|http\.(?:url|target))$/i;
/**
 * `http.request.header.x-auth-key`. Other attributes that end with `key` belong to caches, messages and
 * flags.
 */
const HEADER_ATTRIBUTE = /\.(?:header|metadata)\./;
/** Shortest text whose strings alone are searched for hints, because the search of the whole is one step. */
const LARGE = 64 * 1024;
/** Largest number of escapes within escapes, and of JSON within strings of JSON. */
const MAX_NESTED = 8;

/** The position of a text within the text that was sent. */
interface Layer {
  /** Number of escapes or strings of JSON that were decoded around it. */
  readonly depth: number;
  /**
   * Whether escapes of URLs are decoded: once in each text, before other escapes. Otherwise the ways to
   * decode a text would multiply.
   */
  readonly decodesUrls: boolean;
}

const OUTERMOST: Layer = { depth: 0, decodesUrls: true };

/** The place of a scalar in a body: below a redacted name or path, or at a step of paths. */
interface BodyState {
  readonly isSecret: boolean;
  /** The name that makes it a secret; empty if a path does. */
  readonly name: string;
  readonly paths: ReadonlySet<JsonPathStep>;
}

/** The place of a scalar in captured data. */
type CaptureState =
  | { readonly kind: 'root' | 'headers' | 'body' | 'text' | 'url' | 'document' | 'own' }
  | { readonly kind: 'pair'; name: string; isValue: boolean }
  | { readonly kind: 'attributes'; readonly state: BodyState };

const ROOT: CaptureState = { kind: 'root' };
const HEADER_MEMBERS: CaptureState = { kind: 'headers' };
const BODY: CaptureState = { kind: 'body' };
const TEXT: CaptureState = { kind: 'text' };
const URL_TEXT: CaptureState = { kind: 'url' };
const DOCUMENT: CaptureState = { kind: 'document' };
const OWN_MEMBER: CaptureState = { kind: 'own' };
const PLAIN: BodyState = { isSecret: false, name: '', paths: NO_PATHS };
const SECRET: BodyState = { isSecret: true, name: '', paths: NO_PATHS };
const ATTRIBUTES: CaptureState = { kind: 'attributes', state: PLAIN };
const NONE = new Edits();

/**
 * Replaces secrets by a mask before anything is stored; records of all sources pass through it. Every other
 * character stays. Redacting a redacted text changes nothing.
 *
 * A value is a secret because of its name (of a header, a parameter, a member, an attribute, an element) or
 * because of its form. Texts are searched first for a hint of secrets; most have none.
 */
export class Redactor {
  /** Redacts credentials alone. */
  static readonly standard = new Redactor(DEFAULT_REDACTION);

  private readonly isOff: boolean;
  private readonly hints: RegExp;
  private readonly names: SecretNames;
  private readonly headers: SecretNames;
  private readonly textNames: TextNames;
  private readonly forms: ReadonlySet<SecretForm>;
  private readonly bodyRoot: BodyState;

  /** @param options null: nothing is redacted */
  constructor(options: RedactionOptions | null) {
    const { headers, queryParameters, jsonPaths, forms, exceptions } = options ?? DEFAULT_REDACTION;
    this.names = new SecretNames(headers, exceptions);
    this.headers = new SecretNames(headers, exceptions, [KEY_WORD]);
    this.forms = new Set(forms);
    this.bodyRoot = { isSecret: false, name: '', paths: new Set(jsonPaths) };
    const further = [...headers, ...queryParameters].map((name) =>
      canonicalName(name).replaceAll('_', '[^a-z0-9]*'),
    );
    const nameHints = [...NAME_HINTS, ...further, ...OPTION_HINTS];
    this.textNames = {
      hint: new RegExp(nameHints.join('|'), 'gi'),
      names: this.names,
      parameters: new SecretNames(queryParameters, exceptions, [KEY_WORD]),
    };
    const hints = [
      ...nameHints,
      ...jsonPaths.map(findHint),
      ...forms.flatMap((form) => FORM_HINTS[form]),
      ...TEXT_HINTS,
      ...ESCAPE_HINTS,
    ];
    this.isOff = options === null;
    this.hints = this.isOff ? /(?!)/ : new RegExp(hints.join('|'), 'i');
  }

  /** The record with its URL, path and captured data redacted. */
  *redactRequest<R extends Pick<RequestRecord, 'url' | 'path' | 'consumer' | 'captured_json'>>(
    record: R,
  ): Steps<R> {
    const url = this.redactUrl(record.url);
    const named = this.redactNames(record);
    const captured_json = yield* this.redactScalars(record.captured_json, ROOT);
    if (url === record.url && named === record && captured_json === record.captured_json) return record;
    return { ...named, url, captured_json };
  }

  /** The record with its path and the attributes of its consumer redacted. Other names are not secrets. */
  redactNames<R extends Pick<RequestRecord, 'path' | 'consumer'>>(record: R): R {
    const path = this.redactPath(record.path);
    const { consumer } = record;
    if (consumer?.attributes === undefined) return path === record.path ? record : { ...record, path };
    const attributes = finish(this.redactAttributes(consumer.attributes));
    return { ...record, path, consumer: { ...consumer, attributes } };
  }

  redactUrl(url: string): string {
    return this.findInText(url, PLAIN, OUTERMOST, true).apply(url);
  }

  /** A path, or a path pattern. */
  redactPath(path: string | null): string | null {
    return path === null ? null : this.redactUrl(path);
  }

  /** Any text: JSON or prose, a stack, a form. */
  redactText(text: string): string {
    return this.findInText(text, PLAIN, OUTERMOST).apply(text);
  }

  /** The JSON text of a span's attributes or events. */
  redactAttributes(json: string): Steps<string> {
    return this.redactScalars(json, ATTRIBUTES);
  }

  /** An OpenAPI document: it describes members, so their names do not make secrets of what is below them. */
  redactDocument(json: string): Steps<string> {
    return this.redactScalars(json, DOCUMENT);
  }

  /** Captured data, or attributes, in steps: a record may have megabytes. */
  private *redactScalars(json: string, root: CaptureState): Steps<string> {
    // The search for a hint is one step.
    if (this.isOff || (json.length < LARGE && !this.hints.test(json))) return json;
    const scanned = yield* scanJsonInSteps(json, root, this.captureVisitor);
    return 'found' in scanned ? scanned.found.apply(json) : this.redactText(json);
  }

  private findInHeader(name: string, value: string): Edits {
    if (this.headers.has(name) && isSecretValue(name, value)) return findWhole(value);
    return this.findInText(value, PLAIN, OUTERMOST, URL_HEADER.test(name));
  }

  private findInText(text: string, root: BodyState, layer: Layer, isUrl = false): Edits {
    if (!this.hints.test(text)) return NONE;
    if (layer.depth < MAX_NESTED && JSON_BEGINNING.test(text)) {
      const scanned = scanJson(text, root, this.createBodyVisitor(layer));
      if ('found' in scanned) return scanned.found;
    }
    return this.findInPlain(text, root, layer, isUrl);
  }

  /**
   * A body that is not JSON is stored as a JSON string. Paths apply to it as well: it may be cut off, or have
   * several documents.
   */
  private findInStoredBody(json: string): Edits {
    const found = new Edits();
    if (json.startsWith('"')) {
      const inString = this.findInText(JSON.parse(json) as string, this.bodyRoot, OUTERMOST);
      found.addDecoded(inString, json.slice(1, -1), 1, JSON_ESCAPES);
      return found;
    }
    const scanned = scanJson(json, this.bodyRoot, this.createBodyVisitor(OUTERMOST));
    return 'found' in scanned ? scanned.found : found;
  }

  /** Finds secrets in a text that is not JSON as a whole, but may contain JSON. */
  private findInPlain(text: string, root: BodyState, layer: Layer, isUrl: boolean): Edits {
    const visitor = this.createBodyVisitor(layer);
    const scanPart = (at: number, name?: string) =>
      scanJsonAt(text, at, name === undefined ? root : { ...SECRET, name }, visitor);
    const found = new Edits();
    const rest = new NamedValues(
      text,
      this.textNames,
      isUrl,
      layer.depth < MAX_NESTED ? scanPart : undefined,
      found,
    ).find();
    if (text.includes('<')) new MarkupScanner(text, this.names, found).find();
    findInStructures(text, this.names, found);
    findForms(text, this.forms, found);
    if (layer.depth === MAX_NESTED) return found;
    for (const { start, end } of rest) {
      const part = text.slice(start, end);
      const isEncoded = layer.decodesUrls && part.includes('%');
      if (isEncoded) this.findEncoded(part, start, isUrl, layer, found);
      const escapes = HTML_ESCAPE.test(part)
        ? HTML_ESCAPES
        : CODE_ESCAPE.test(part)
          ? JSON_ESCAPES
          : undefined;
      const decodesUrls = layer.decodesUrls && !isEncoded;
      if (escapes) this.findDecoded(part, escapes, start, { ...layer, decodesUrls }, found);
    }
    return found;
  }

  private findEncoded(text: string, offset: number, isUrl: boolean, layer: Layer, found: Edits): void {
    let done = 0;
    for (let at = text.indexOf('%'); at !== -1; at = text.indexOf('%', done)) {
      const { start, end } = findAround(text, at, done, isUrl ? ENCODED_ENDS_IN_URL : ENCODED_ENDS);
      this.findDecoded(text.slice(start, end), URL_ESCAPES, offset + start, layer, found);
      done = end;
    }
  }

  private findDecoded(raw: string, escapes: Escapes, offset: number, layer: Layer, found: Edits): void {
    const text = decodeEscapes(raw, escapes);
    if (text !== raw) found.addDecoded(this.findInText(text, PLAIN, enter(layer)), raw, offset, escapes);
  }

  private createBodyVisitor(layer: Layer): ScalarVisitor<BodyState> {
    return {
      enter: (state, step) => this.enterBody(state, step),
      mayHaveSecrets: (raw, { isSecret }) => isSecret || this.hints.test(raw),
      findInString: (text, state) =>
        state.isSecret && isSecretValue(state.name, text)
          ? findWhole(text)
          : this.findInText(text, PLAIN, enter(layer)),
      isSecretBare: (raw, state) => this.isSecretBare(raw, state),
      isPairName: (text) => this.names.has(text),
    };
  }

  private enterBody(state: BodyState, step: string | number, names = this.names): BodyState {
    if (state.isSecret) return state;
    const paths = advancePaths(state.paths, step);
    if (paths === null) return SECRET;
    if (typeof step === 'string' && (names.has(step) || isUserOption(step)))
      return { isSecret: true, name: step, paths: NO_PATHS };
    return paths === state.paths ? state : { ...state, paths };
  }

  /** Of the bare values only numbers are secrets, not `true`, `false` or `null`. */
  private isSecretBare(raw: string, { isSecret, name }: BodyState): boolean {
    const isNumber = /^-?\d/.test(raw);
    return isNumber && ((isSecret && isSecretValue(name, raw)) || (this.forms.has('card') && isCard(raw)));
  }

  private readonly captureVisitor: ScalarVisitor<CaptureState> = {
    enter: (state, step) => this.enterCapture(state, step),
    mayHaveSecrets: (raw, state) =>
      state.kind === 'pair' ||
      (state.kind === 'attributes' && state.state.isSecret) ||
      (state.kind !== 'own' && this.hints.test(raw)),
    findInString: (text, state) => {
      switch (state.kind) {
        case 'pair':
          if (state.isValue) return this.findInHeader(state.name, text);
          state.name = text;
          return NONE;
        case 'body':
          return this.findInStoredBody(text);
        case 'text':
        case 'url':
        case 'document':
          return this.findInText(text, PLAIN, OUTERMOST, state.kind === 'url');
        case 'attributes':
          if (state.state.isSecret && isSecretValue(state.state.name, text)) return findWhole(text);
          return this.findInText(text, PLAIN, OUTERMOST);
        case 'root':
        case 'headers':
        case 'own':
          return NONE;
      }
    },
    isPairName: (text) => this.names.has(text),
    // Numbers of this service's own members are times and lengths.
    isSecretBare: (raw, state) => state.kind === 'attributes' && this.isSecretBare(raw, state.state),
  };

  private enterCapture(state: CaptureState, step: string | number): CaptureState {
    switch (state.kind) {
      case 'root':
        if (step === 'request_headers' || step === 'response_headers') return HEADER_MEMBERS;
        if (step === 'request_body_json' || step === 'response_body_json') return BODY;
        return TEXT;
      case 'headers':
        return { kind: 'pair', name: '', isValue: false };
      case 'pair':
        state.isValue = step === 1;
        return state;
      case 'text':
        if (step === 'span_id' || step === 'parent_span_id') return OWN_MEMBER;
        return step === 'attributes' ? ATTRIBUTES : state;
      case 'attributes': {
        if (typeof step === 'string' && URL_ATTRIBUTE.test(step)) return URL_TEXT;
        const isHeader = typeof step === 'string' && HEADER_ATTRIBUTE.test(step);
        const inner = this.enterBody(state.state, step, isHeader ? this.headers : this.names);
        return inner === state.state ? state : { kind: 'attributes', state: inner };
      }
      case 'body':
      case 'url':
      case 'document':
      case 'own':
        return state;
    }
  }
}

function enter(layer: Layer): Layer {
  return { ...layer, depth: layer.depth + 1 };
}

function findWhole(text: string): Edits {
  const found = new Edits();
  if (text !== '') found.add(0, text.length);
  return found;
}

/** A hint for the values of a path: its last name. */
function findHint(first: JsonPathStep): string {
  let hint = '';
  for (let step: JsonPathStep | null = first; step !== null; step = step.next) hint = step.name ?? hint;
  return hint.replaceAll(/[^\p{L}\p{N}]+/gu, '[^]{1,12}');
}
