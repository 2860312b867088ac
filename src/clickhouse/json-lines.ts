/** The lines of a JSONEachRow answer. */
export function lines(text: string): string[] {
  return text === '' ? [] : text.trimEnd().split('\n');
}
