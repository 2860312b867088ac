import { type Timestamp, resolveTimestamp } from '../common/time/timestamp.js';
import { type Window, startsBeforeEnd } from '../common/time/window.js';
import { invalidToken, startNotBeforeEnd } from '../validation/issues.js';
import type { InputCheck } from '../validation/validation-context.js';
import { PageTokens, type TokenBinding, type TokenContent } from './page-tokens.js';

/** An input whose answer comes in pages. */
export interface PagedInput {
  app_id: number;
  limit: number;
  next_token?: string;
}

/** A paged input with a window; what was sent, not yet resolved. */
export interface WindowedInput extends PagedInput {
  start?: Timestamp;
  end?: Timestamp;
}

/** The binding of an input's token, but for what the account knows. */
export type QueryBinding = Pick<TokenBinding, 'operation' | 'filters'>;

/** What was sent as the window, in milliseconds since the epoch; null where nothing was. */
export type SentWindow = readonly [start: number | null, end: number | null];

/** Where a walk with a window stands: at its first page, or behind the page that made the token. */
export interface WindowWalk {
  readonly now: number;
  readonly sent: SentWindow;
  /** Set when a token was sent: the window is the token's, for the whole walk. */
  readonly resumed?: TokenContent & { readonly window: readonly [number, number] };
}

/** Opens the token of a paged input; one that is not of this very query is refused (docs/contract.md#page-token). */
export async function resume<Input extends PagedInput>(
  input: Input,
  check: InputCheck<Input>,
  { operation, filters }: QueryBinding,
): Promise<TokenContent | undefined> {
  if (input.next_token === undefined) return undefined;
  const tokens = check.resolve(PageTokens);
  await tokens.ready();
  const content = tokens.open(input.next_token);
  const binding = { operation, filters, teamId: check.account.teamId, appId: input.app_id };
  // With another filter refused, the token cannot be held against the query: that fault is enough for this answer.
  if (content && (tokens.belongs(content, binding) || !check.accepts(...sentNames(input)))) return content;
  check.refuse('next_token', invalidToken);
  return undefined;
}

/** The same for an input with a window, which is judged as well: start before end, and the token's own. */
export async function resumeWindow<Input extends WindowedInput>(
  input: Input,
  check: InputCheck<Input>,
  binding: QueryBinding,
  { defaultSpanMs, timezone }: { defaultSpanMs: number; timezone?: string | undefined },
): Promise<WindowWalk> {
  const now = Date.now();
  const [start, end] = [input.start, input.end].map((one) => one && resolveTimestamp(one, timezone));
  const sent = [start ?? null, end ?? null] as const;
  const content = await resume(input, check, binding);
  if (content?.window && repeats(sent, content.sent))
    return { now, sent, resumed: { ...content, window: content.window } };
  if (content) check.refuse('next_token', invalidToken);
  if (check.accepts('start', 'end') && !startsBeforeEnd({ start, end, now, defaultSpanMs }))
    check.refuse('start', startNotBeforeEnd);
  return { now, sent };
}

/** Seals the token of the next page. */
export function nextToken(
  tokens: PageTokens,
  { operation, filters }: QueryBinding,
  scope: { teamId: number; appId: number },
  content: TokenContent,
): string {
  return tokens.seal({ operation, filters, teamId: scope.teamId, appId: scope.appId }, content);
}

/** The window as a token carries it. */
export function tokenWindow({ start, end }: Window): readonly [number, number] {
  return [start, end];
}

/** A later page may leave out the window or repeat it, but not change it. */
function repeats(sent: SentWindow, first: TokenContent['sent']): boolean {
  return sent.every((value, index) => value === null || value === first?.[index]);
}

function sentNames<Input extends PagedInput>(input: Input): (keyof Input & string)[] {
  return Object.keys(input) as (keyof Input & string)[];
}
