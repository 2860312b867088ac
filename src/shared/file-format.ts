/**
 * Public formats of rows that are not pages of JSON, each with its media type. `Accept` means the first one
 * of a type. The first of all is the default.
 */
export const MEDIA_TYPES = {
  ndjson: 'application/x-ndjson',
  arrow: 'application/vnd.apache.arrow.stream',
  csv: 'text/csv',
  parquet: 'application/vnd.apache.parquet',
  csv_spreadsheet: 'text/csv',
} as const;

export type FileFormat = keyof typeof MEDIA_TYPES;

export const FILE_FORMATS = Object.keys(MEDIA_TYPES) as FileFormat[];

/**
 * Formats of request logs: in addition an HTTP Archive, which `Accept` never means. Its media type is not one
 * of JSON, with which generated clients would parse NDJSON as JSON as well.
 */
export const EXPORT_MEDIA_TYPES = { ...MEDIA_TYPES, har: 'application/x-har' } as const;

export type ExportFormat = keyof typeof EXPORT_MEDIA_TYPES;

export const EXPORT_FORMATS = Object.keys(EXPORT_MEDIA_TYPES) as ExportFormat[];

/** Whether the format has typed columns; in the others all values are text. */
export function isTyped(format: ExportFormat): format is 'arrow' | 'parquet' {
  return format === 'arrow' || format === 'parquet';
}
