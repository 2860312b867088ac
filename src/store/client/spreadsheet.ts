const QUOTE = 0x22;
const APOSTROPHE = Buffer.from("'");
/** With one of these a text begins that a spreadsheet runs as a formula (OWASP, CSV injection). */
const FORMULA_STARTS: ReadonlySet<number | undefined> = new Set(Buffer.from('=+-@\t\r\n'));

/** CSV whose texts are all in quotes, with an apostrophe before those that a spreadsheet would run. */
export function guardFormulas(csv: Buffer): Buffer {
  const parts: Buffer[] = [];
  let copied = 0;
  for (let opening = csv.indexOf(QUOTE); opening !== -1;) {
    const start = opening + 1;
    if (FORMULA_STARTS.has(csv[start])) {
      parts.push(csv.subarray(copied, start), APOSTROPHE);
      copied = start;
    }
    let closing = csv.indexOf(QUOTE, start);
    // Quotes in a text are doubled.
    while (csv[closing + 1] === QUOTE) closing = csv.indexOf(QUOTE, closing + 2);
    opening = csv.indexOf(QUOTE, closing + 1);
  }
  return parts.length === 0 ? csv : Buffer.concat([...parts, csv.subarray(copied)]);
}
