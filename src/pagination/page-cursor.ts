import { type Timestamp, resolveTimestamp } from '../common/time/timestamp.js';
import { type Window, startsBeforeEnd } from '../common/time/window.js';
import { invalidToken, startNotBeforeEnd } from '../validation/issues.js';
import type { ValidationContext } from '../validation/validation-context.js';
import { PageTokens, type QueryFingerprint, type TokenContent } from './page-tokens.js';

/** The input of a paginated operation. */
export interface PagedInput {
  app_id: number;
  limit: number;
  next_token?: string;
}

/** A paginated input with a window as it was sent, not yet resolved. */
export interface WindowedInput extends PagedInput {
  start?: Timestamp;
  end?: Timestamp;
}

/** The fingerprint of an input's query, without the team. */
export type InputFingerprint = Pick<QueryFingerprint, 'operation' | 'filters'>;

/** The window as it was sent, in milliseconds since the epoch; null for absent bounds. */
export type RequestedWindow = readonly [start: number | null, end: number | null];

/** The position of a paginated read: the first page, or after the page of the token. */
export interface WindowCursor {
  readonly now: number;
  readonly requestedWindow: RequestedWindow;
  /** Set if a token was sent: all pages have the token's window. */
  readonly token?: TokenContent & { readonly window: readonly [number, number] };
}

/** Verifies the token of a paginated input; a token of another query is an issue (docs/contract.md#page-token). */
export async function openCursor<Input extends PagedInput>(
  input: Input,
  context: ValidationContext<Input>,
  { operation, filters }: InputFingerprint,
): Promise<TokenContent | undefined> {
  if (input.next_token === undefined) return undefined;
  const tokens = context.resolve(PageTokens);
  await tokens.ensureSecret();
  const content = tokens.verify(input.next_token);
  const fingerprint = { operation, filters, teamId: context.account.teamId, appId: input.app_id };
  // With an invalid filter the token cannot be compared with the query; the filter's issue is enough.
  if (content && (tokens.matches(content, fingerprint) || !context.isValid(...getFieldNames(input))))
    return content;
  context.addIssue('next_token', invalidToken);
  return undefined;
}

/** The same for an input with a window, which must have its start before its end and match the token's. */
export async function resolveWindowCursor<Input extends WindowedInput>(
  input: Input,
  context: ValidationContext<Input>,
  fingerprint: InputFingerprint,
  { defaultSpanMs, timezone }: { defaultSpanMs: number; timezone?: string | undefined },
): Promise<WindowCursor> {
  const now = Date.now();
  const [start, end] = [input.start, input.end].map((one) => one && resolveTimestamp(one, timezone));
  const requestedWindow = [start ?? null, end ?? null] as const;
  const content = await openCursor(input, context, fingerprint);
  if (content?.window && repeatsWindow(requestedWindow, content.requestedWindow))
    return { now, requestedWindow, token: { ...content, window: content.window } };
  if (content) context.addIssue('next_token', invalidToken);
  if (context.isValid('start', 'end') && !startsBeforeEnd({ start, end, now, defaultSpanMs }))
    context.addIssue('start', startNotBeforeEnd);
  return { now, requestedWindow };
}

/** Signs the token of the next page. */
export function signNextToken(
  tokens: PageTokens,
  { operation, filters }: InputFingerprint,
  scope: { teamId: number; appId: number },
  content: TokenContent,
): string {
  return tokens.sign({ operation, filters, teamId: scope.teamId, appId: scope.appId }, content);
}

/** The window in the form of a token. */
export function toTokenWindow({ start, end }: Window): readonly [number, number] {
  return [start, end];
}

/** A later page may leave out the window or repeat it, but not change it. */
function repeatsWindow(requestedWindow: RequestedWindow, first: TokenContent['requestedWindow']): boolean {
  return requestedWindow.every((value, index) => value === null || value === first?.[index]);
}

function getFieldNames<Input extends PagedInput>(input: Input): (keyof Input & string)[] {
  return Object.keys(input) as (keyof Input & string)[];
}
