/** One result on standard output: a line of JSON, for programs. */
export function printResult(result: object): void {
  process.stdout.write(`${JSON.stringify(result)}\n`);
}

/** A line for people, on standard error. */
export function printMessage(line: string): void {
  process.stderr.write(`${line}\n`);
}
