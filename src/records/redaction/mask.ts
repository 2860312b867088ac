/** Replaces a redacted value. Client libraries write the same text, and the dashboard shows it as masked. */
export const MASK = '******';
