import { HttpCode, Post, type Type, applyDecorators } from '@nestjs/common';
import { ApiExtraModels, ApiOkResponse, getSchemaPath } from '@nestjs/swagger';
import { EXPORT_MEDIA_TYPES, type ExportFormat, FILE_FORMATS } from '../../shared/file-format.js';
import { READ_HEADERS, requiredHeaders } from './headers.js';
import { apiInput } from './input.js';
import { type OperationOptions, documentOperation } from './read-operation.decorator.js';

/** The route of a POST operation that reads. */
export interface QueryRoute extends OperationOptions {
  /** Path below the controller's. If there are several, the document has the first. */
  path?: string | string[];
  /** DTO of the path parameters and of the members of the body. */
  input: Type;
  /** Class of a row of the response. */
  row: Type;
  /** Formats of the response; by default those that all operations have. */
  formats?: readonly ExportFormat[];
}

const DESCRIPTIONS: Readonly<Partial<Record<ExportFormat, string>>> = {
  ndjson: 'One JSON object a line',
  arrow: 'An Arrow IPC stream, compressed with LZ4',
  csv: 'RFC 4180, with a header line; as `csv_spreadsheet` with an apostrophe before texts that begin as a formula',
  parquet: 'A Parquet file',
  har: 'An HTTP Archive (HAR 1.2), one JSON object',
};

/**
 * The route of a POST operation that reads, and its documentation. The query is a JSON body, and the response
 * is a file of rows. `createDocument` adds the error responses, which are the same for all operations.
 */
export function documentQuery(route: QueryRoute): MethodDecorator {
  const { path, input, row, bodies, headers = [], formats = FILE_FORMATS } = route;
  const described = formats.filter((format) => format in DESCRIPTIONS);
  const contents = described.map((format) => [
    EXPORT_MEDIA_TYPES[format],
    {
      schema:
        format === 'ndjson'
          ? { $ref: getSchemaPath(row) }
          : {
              type: 'string',
              ...(format !== 'csv' && format !== 'har' && { format: 'binary' }),
              description: DESCRIPTIONS[format],
            },
    },
  ]);
  return applyDecorators(
    Post(path),
    HttpCode(200),
    documentOperation(route),
    ApiExtraModels(row),
    ApiOkResponse({
      description: `Success: a file in the requested format. ${DESCRIPTIONS.ndjson} by default.`,
      headers: requiredHeaders([...READ_HEADERS, ...headers]),
      content: Object.fromEntries(contents) as Record<string, object>,
    }),
    apiInput(input, bodies),
  );
}
