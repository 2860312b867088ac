import {
  ConstraintViolation,
  type JsonPath,
  PartRefusals,
  type RefusedPart,
  notAList,
  tooFewItems,
  tooManyItems,
} from './issues.js';

export interface ListBounds {
  readonly minItems?: number;
  readonly maxItems: number;
}

/** The items of a JSON list, or why the list or its items are invalid. */
export function readList<Item>(
  value: unknown,
  { minItems = 0, maxItems }: ListBounds,
  readItem: (item: unknown) => Item | ConstraintViolation | PartRefusals,
): Item[] | ConstraintViolation | PartRefusals {
  if (!Array.isArray(value)) return notAList;
  if (value.length < minItems) return tooFewItems(minItems, value.length);
  if (value.length > maxItems) return tooManyItems(maxItems, value.length);
  const read = value.map(readItem);
  const refused = read.flatMap((item, index) => refusedParts(item, [index], value[index]));
  return refused.length > 0 ? new PartRefusals(refused) : (read as Item[]);
}

/** The invalid parts of a value, relative to its parent; none if it is valid. */
export function refusedParts(read: unknown, path: JsonPath, input: unknown): RefusedPart[] {
  if (read instanceof ConstraintViolation) return [{ path, input, refusal: read }];
  if (!(read instanceof PartRefusals)) return [];
  return read.parts.map((part) => ({ ...part, path: [...path, ...part.path] }));
}
