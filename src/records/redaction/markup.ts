import type { Edits } from './edits.js';
import { isNoValue, isSecretValue } from './named-values.js';
import { type SecretNames, isCount } from './secret-names.js';
import { forEachMatch } from './text-tools.js';

/** A tag: whether it closes an element, its name without a prefix, its attributes. */
const TAG = /<(\/?)(?:[\w-]{1,64}:)?([\w.-]{1,64})(?![\w.:-])([^<>]*)>/g;
const ATTRIBUTE = /([\w.:-]{1,64})\s{0,4}=\s{0,4}(?:"([^"]*)"|'([^']*)')/g;
/**
 * Names of attributes and elements that hold a name. As an attribute it names the text of its element, as an
 * element the next element.
 */
const NAME = /^(?:name|key)$/i;
/** Further attributes that name the value of another attribute. */
const NAME_OF_VALUE = /^(?:name|key|id|type|property)$/i;
const VALUE = /^(?:value|content)$/i;
const CDATA = /^<!\[CDATA\[([^]*?)(?:\]\]>)?$/;

interface Text {
  readonly start: number;
  readonly end: number;
  /** How many more open elements name a secret than at the text before; all of them are closed in the end. */
  depth: number;
}

/** Finds the contents of elements and attributes whose name is the name of a secret (XML, HTML). */
export class MarkupScanner {
  /** Open elements with the name of a secret, each with the number of texts before it. */
  private readonly open = new Map<string, number>();
  private readonly texts: Text[] = [];
  private closed = 0;
  private isNextSecret = false;

  constructor(
    private readonly text: string,
    private readonly names: SecretNames,
    private readonly found: Edits,
  ) {}

  find(): void {
    let done = 0;
    forEachMatch(this.text, TAG, ({ 0: tag, 1: slash, 2: name = '', 3: attributes = '', index }) => {
      const text = { start: done, end: index, depth: -this.closed };
      done = index + tag.length;
      if (this.open.size > 0) {
        this.texts.push(text);
        this.closed = 0;
      }
      if (slash === '/') this.closeElement(name, text);
      else this.openElement(name, attributes, done - 1 - attributes.length);
    });
    this.maskTexts();
  }

  private openElement(name: string, attributes: string, at: number): void {
    const isSecret = this.isNextSecret || this.names.has(name) || this.findInAttributes(attributes, at);
    this.isNextSecret = false;
    if (isSecret && !attributes.endsWith('/')) this.open.set(name, this.texts.length);
    else this.open.delete(name);
  }

  private closeElement(name: string, { start, end }: Text): void {
    if (NAME.test(name)) this.isNextSecret = this.names.has(this.text.slice(start, end).trim());
    const first = this.texts[this.open.get(name) ?? Infinity];
    this.open.delete(name);
    if (first === undefined || (first.start === start && isCount(name, this.text.slice(start, end)))) return;
    first.depth++;
    this.closed++;
  }

  private maskTexts(): void {
    let inside = 0;
    for (const { start, end, depth } of this.texts) {
      inside += depth;
      if (inside > 0) this.maskText(start, end);
    }
  }

  private maskText(start: number, end: number): void {
    const text = this.text.slice(start, end);
    const value = CDATA.exec(text)?.[1] ?? text;
    if (isNoValue(value.trim())) return;
    const from = start + text.indexOf(value);
    this.found.add(from, from + value.length);
  }

  /** @returns whether the attributes name the text of the element */
  private findInAttributes(attributes: string, at: number): boolean {
    if (!attributes.includes('=')) return false;
    let [name, namesText] = ['', false];
    const values: { start: number; end: number }[] = [];
    forEachMatch(attributes, ATTRIBUTE, ({ 0: all, 1: attribute = '', 2: double, 3: single, index }) => {
      const value = double ?? single ?? '';
      const end = at + index + all.length - 1;
      if (VALUE.test(attribute)) values.push({ start: end - value.length, end });
      if (!NAME_OF_VALUE.test(attribute) || !this.names.has(value)) return;
      name = value;
      namesText ||= NAME.test(attribute);
    });
    if (name === '') return false;
    for (const { start, end } of values)
      if (isSecretValue(name, this.text.slice(start, end))) this.found.add(start, end);
    return namesText && values.length === 0;
  }
}
