/** The command cannot be executed; `message` is one line for its user. */
export class AdminError extends Error {
  override readonly name = 'AdminError';
}

export function requireText(name: string, value: string): string {
  if (value.trim() === '') throw new AdminError(`The ${name} must not be empty`);
  return value.toWellFormed();
}
