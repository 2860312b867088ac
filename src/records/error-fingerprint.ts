import { hash } from 'node:crypto';

/** Frames that tell errors apart: the innermost ones. Outer frames change with versions of a framework. */
const MAX_FRAMES = 5;
/** Longest part of a line that is read. */
const MAX_LINE = 500;
/**
 * Lines of a stack trace that name a place, as runtimes write them: JavaScript, Java, .NET and Rust; Python;
 * PHP; Elixir; Go; Ruby.
 */
const FRAME = /^\s*(?:at |File "|#\d+ |\(\S+ \S+\) \S+:\d+: )|^\s+\S+\.go:\d+|:\d+:in /;
/** Python writes the innermost frame last. */
const INNERMOST_LAST = /^\s*File "/;

/** What tells an error apart from others of an app. */
export interface ErrorIdentity {
  method: string;
  path: string | null;
  type: string;
  message: string;
  /** Of a validation error: the path to the value. */
  location: readonly string[];
  stacktrace: string;
}

/**
 * The fingerprint of an error, 64 bits as decimal digits: equal for occurrences of one error, whichever
 * client reports it and whatever values are in its message (docs/contract.md#fingerprints).
 */
export function findFingerprint({
  method,
  path,
  type,
  message,
  location,
  stacktrace,
}: ErrorIdentity): string {
  const frames = findFrames(stacktrace);
  const cause = frames.length > 0 ? frames : [...location, message].map(removeValues);
  const digest = hash('sha256', JSON.stringify([method, path, type, ...cause]));
  return BigInt(`0x${digest.slice(0, 16)}`).toString();
}

/** The innermost frames, without directories and numbers, which a deployment changes. */
function findFrames(stacktrace: string): string[] {
  const lines = stacktrace.split('\n').map((line) => line.slice(0, MAX_LINE));
  const frames = lines.filter((line) => FRAME.test(line));
  const innermost = INNERMOST_LAST.test(frames[0] ?? '')
    ? frames.slice(-MAX_FRAMES)
    : frames.slice(0, MAX_FRAMES);
  return innermost.map((line) =>
    line
      .trim()
      .replace(/[^\s"'(),:]+/g, (word) =>
        word.slice(Math.max(word.lastIndexOf('/'), word.lastIndexOf('\\')) + 1),
      )
      .replace(/0x[\da-f]+|\d+/gi, ''),
  );
}

/** A text without words that are values: numbers, IDs, addresses. */
function removeValues(text: string): string {
  return text.replace(/[\w@.+-]+/g, (word) => (/[\d@]/.test(word) ? '' : word));
}
