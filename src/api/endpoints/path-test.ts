/**
 * Whether a path matches a pattern as in `pathMatches`, for paths that are not in the store. The time grows
 * with the length of both, which that of a regular expression with many `*` does not.
 */
export function createPathTest(pattern: string | undefined): (path: string) => boolean {
  if (pattern === undefined) return () => true;
  const [first = '', ...rest] = pattern.split('*');
  const last = rest.pop();
  if (last === undefined) return (path) => path === pattern;
  return (path) => {
    if (!path.startsWith(first)) return false;
    let at = first.length;
    for (const part of rest) {
      const found = path.indexOf(part, at);
      if (found === -1) return false;
      at = found + part.length;
    }
    return path.length - last.length >= at && path.endsWith(last);
  };
}
