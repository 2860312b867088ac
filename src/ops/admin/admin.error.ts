/** The command cannot be executed; `message` is one line for its user. */
export class AdminError extends Error {
  override readonly name = 'AdminError';
}

export function requireText(what: string, value: string): string {
  if (value.trim() === '') throw new AdminError(`The ${what} must not be empty`);
  return value.toWellFormed();
}
