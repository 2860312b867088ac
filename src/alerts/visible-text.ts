import { truncate } from '../records/text.js';

const MAX_TEXT = 200;
/** Control characters, and characters that change the direction of a text or are not shown. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** Names come from monitored applications: a line of visible characters. */
export function toText(text: string): string {
  return truncate(text.toWellFormed().replaceAll(INVISIBLE, ' '), MAX_TEXT);
}
