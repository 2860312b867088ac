import {
  ConstraintViolation,
  type JsonPath,
  InvalidParts,
  type InvalidPart,
  notAList,
  tooFewItems,
  tooManyItems,
} from './issues.js';

interface ListBounds {
  readonly minItems?: number;
  readonly maxItems: number;
}

/** The items of a JSON list, or why the list or its items are invalid. */
export function readList<Item>(
  value: unknown,
  { minItems = 0, maxItems }: ListBounds,
  readItem: (item: unknown) => Item | ConstraintViolation | InvalidParts,
): Item[] | ConstraintViolation | InvalidParts {
  if (!Array.isArray(value)) return notAList;
  if (value.length < minItems) return tooFewItems(minItems, value.length);
  if (value.length > maxItems) return tooManyItems(maxItems, value.length);
  const read = value.map(readItem);
  const invalid = read.flatMap((item, index) => listInvalidParts(item, [index], value[index]));
  return invalid.length > 0 ? new InvalidParts(invalid) : (read as Item[]);
}

/** The invalid parts of a value, relative to its parent; none if it is valid. */
export function listInvalidParts(read: unknown, path: JsonPath, input: unknown): InvalidPart[] {
  if (read instanceof ConstraintViolation) return [{ path, input, violation: read }];
  if (!(read instanceof InvalidParts)) return [];
  return read.parts.map((part) => ({ ...part, path: [...path, ...part.path] }));
}
