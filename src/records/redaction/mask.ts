/** Stands for a redacted value; client libraries write the same, and the dashboard shows it as masked. */
export const MASK = '******';
