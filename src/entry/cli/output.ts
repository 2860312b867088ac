import stringWidth from 'string-width';

/** Characters that move the cursor, colour the text or change its direction on a terminal. */
const CONTROLS = /[\p{Cc}\u2028-\u202e\u2066-\u2069]/gu;
const GAP = '  ';

/** The exit code with which shells report the end of a process by SIGPIPE: 128 and the signal's number. */
const EXIT_NO_READER = 141;

let isForPeople = process.stdout.isTTY;
let failure: Error | undefined;

/**
 * Handles errors of standard output, such as a pipe whose reader is gone. Without it, Node.js would end the
 * process at once, and with it an engine in the middle of a query: a segmentation fault.
 */
export function watchOutput(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (failure) return;
    failure = error;
    const hasNoReader = error.code === 'EPIPE';
    process.exitCode = hasNoReader ? EXIT_NO_READER : 1;
    if (!hasNoReader) printMessage(`error: ${error.message}`);
  });
  // The command itself is not affected, and there is nowhere to report it.
  process.stderr.on('error', () => undefined);
}

/** Whether a command ended because standard output failed, which needs no further message. */
export function isOutputFailure(error: unknown): boolean {
  return failure !== undefined && error === failure;
}

/** @throws the error of an earlier write, so that the command ends in an orderly way */
function write(text: string): void {
  if (failure) throw failure;
  process.stdout.write(text);
}

/** Prints results as JSON, also on a terminal. */
export function forceJson(): void {
  isForPeople = false;
}

/**
 * One result on standard output. On a terminal: a table of its members, and a table for each list of objects.
 * Otherwise: a line of JSON, for programs.
 *
 * @param text for people instead of the table
 */
export function printResult(result: object, text?: string): void {
  if (!isForPeople) {
    printJson(result);
    return;
  }
  if (text !== undefined) {
    write(`${text}\n`);
    return;
  }
  const members = Object.entries(result);
  printTable(members.filter(([, value]) => !isTable(value)).map(([name, value]) => [name, toCell(value)]));
  for (const [name, value] of members)
    if (isTable(value)) {
      write(`\n${name}:\n`);
      printRows(value);
    }
}

function isTable(value: unknown): value is object[] {
  return (
    Array.isArray(value) && value.length > 0 && value.every((row) => typeof row === 'object' && row !== null)
  );
}

/** Prints text on standard output, only on a terminal: for programs it would not be JSON. */
export function printForPeople(text: string): void {
  if (isForPeople) write(`${text}\n`);
}

/** Results of one kind: a table on a terminal, otherwise a line of JSON each, printed at once. */
export async function printResults(results: Iterable<object> | AsyncIterable<object>): Promise<void> {
  const rows: object[] = [];
  for await (const result of results)
    if (isForPeople) rows.push(result);
    else printJson(result);
  if (!isForPeople) return;
  if (rows.length > 0) printRows(rows);
  else printMessage('There is nothing to list.');
}

/** Results of several kinds: a table for each kind on a terminal, otherwise one line of JSON. */
export function printSections(sections: Readonly<Record<string, readonly object[]>>): void {
  if (!isForPeople) {
    printJson(sections);
    return;
  }
  for (const [name, rows] of Object.entries(sections)) {
    write(`\n${name}:\n`);
    printRows(rows);
  }
}

/** Prints a line for people on standard error. */
export function printMessage(line: string): void {
  process.stderr.write(`${line}\n`);
}

function printJson(result: object): void {
  write(`${JSON.stringify(result)}\n`);
}

/** Rows under the names of their members; rows may lack members. */
function printRows(rows: readonly object[]): void {
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const heading = names.map((name) => name.replaceAll('_', ' ').toUpperCase());
  const cells = rows.map((row) => names.map((name) => toCell((row as Record<string, unknown>)[name])));
  printTable([heading, ...cells]);
}

function toCell(value: unknown): string {
  if (value === null || value === undefined || value === '') return '-';
  const text = Array.isArray(value) ? value.map(toText).join(', ') || '-' : toText(value);
  return text.replace(CONTROLS, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** A text unchanged; for an object with a name, the name. */
function toText(value: unknown): string {
  if (typeof value === 'string') return value;
  return typeof value === 'object' && value !== null && 'name' in value
    ? String(value.name)
    : JSON.stringify(value);
}

/** The last column is not padded, because a terminal would wrap the blanks. */
function printTable(rows: readonly string[][]): void {
  const widths: number[] = [];
  for (const row of rows)
    for (const [column, cell] of row.entries())
      widths[column] = Math.max(widths[column] ?? 0, stringWidth(cell));
  const pad = (cell: string, column: number, { length }: readonly string[]) =>
    column === length - 1 ? cell : cell + ' '.repeat((widths[column] ?? 0) - stringWidth(cell));
  for (const row of rows) write(`${row.map(pad).join(GAP)}\n`);
}
