/** The store's history and the files disagree, or a migration cannot run as asked; `message` says which and what to do. */
export class MigrationError extends Error {
  override readonly name = 'MigrationError';
}
