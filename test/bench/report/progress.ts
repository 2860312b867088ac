const startedAt = performance.now();

/** What is being done, on standard error: standard output is the table's. */
export function progress(name: string): void {
  const seconds = Math.round((performance.now() - startedAt) / 1000);
  process.stderr.write(`${String(seconds).padStart(5)} s  ${name}\n`);
}
