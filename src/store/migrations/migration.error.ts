/** The applied migrations and the files differ, or a migration cannot run; `message` says what to do. */
export class MigrationError extends Error {
  override readonly name = 'MigrationError';
}
