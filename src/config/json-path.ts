/**
 * One step of a path: a member or an index, or any of them. `isAnywhere`: any number of steps may lie before
 * it.
 */
export interface JsonPathStep {
  readonly name: string | null;
  readonly isAnywhere: boolean;
  /** Null: the path ends here. */
  readonly next: JsonPathStep | null;
}

const STEP = /(\.\.|\.|^)(?:(\*)|([^.[\]*'"\s]+))|(\.\.)?\[(?:(\*)|(\d+)|'([^']*)'|"([^"]*)")\]/y;

/**
 * Parses a path of JSONPath (RFC 9535) with names, indexes, `*` and `..`: `$.user.ssn`, `$.cards[*].number`,
 * `$..iban`. The leading `$.` may be left out. Returns undefined for any other text.
 */
export function parseJsonPath(text: string): JsonPathStep | undefined {
  const path = text.startsWith('$') ? text.slice(1) : text;
  const steps: Omit<JsonPathStep, 'next'>[] = [];
  STEP.lastIndex = 0;
  while (STEP.lastIndex < path.length) {
    const match = STEP.exec(path);
    if (!match) return undefined;
    const [, dots, , name, deepBracket, , index, single, double] = match;
    // A wildcard leaves name and index undefined.
    steps.push({
      name: name ?? index ?? single ?? double ?? null,
      isAnywhere: (dots ?? deepBracket) === '..',
    });
  }
  return steps.reduceRight<JsonPathStep | undefined>(
    (next, step) => ({ ...step, next: next ?? null }),
    undefined,
  );
}

/** The steps that may follow a step; null: a path ends with it. */
export function advancePaths(
  expected: ReadonlySet<JsonPathStep>,
  step: string | number,
): ReadonlySet<JsonPathStep> | null {
  if (expected.size === 0) return expected;
  const following = new Set<JsonPathStep>();
  for (const expectedStep of expected) {
    if (expectedStep.isAnywhere) following.add(expectedStep);
    if (expectedStep.name !== null && expectedStep.name !== String(step)) continue;
    if (expectedStep.next === null) return null;
    following.add(expectedStep.next);
  }
  return following;
}
