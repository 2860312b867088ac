const MIN_MAJOR = 20;
const MIN_MINOR = 19;
/** `EX_CONFIG`: a restart will not help. */
const EXIT_CONFIG = 78;

/**
 * Ends the process if Node.js is too old. It runs before any ES module is loaded: older versions fail at the
 * first import of a name that they do not have, and that error says nothing to people.
 */
export function requireNode(): void {
  const { node } = process.versions;
  const [major = 0, minor = 0] = node.split('.').map(Number);
  if (major > MIN_MAJOR || (major === MIN_MAJOR && minor >= MIN_MINOR)) return;
  process.stderr.write(
    `Node.js ${node} is too old: install Node.js 24, or at least ${MIN_MAJOR}.${MIN_MINOR}.\n`,
  );
  process.exit(EXIT_CONFIG);
}
