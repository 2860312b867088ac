import { type ExecutionContext, createParamDecorator } from '@nestjs/common';
import type { Request } from 'express';
import { findAcceptedType } from './accepted-type.js';
import { FILE_FORMATS, type FileFormat, MEDIA_TYPES } from '../../shared/file-format.js';

/** Bytes that are sent as they arrive. */
export interface FileStream {
  /** Chunks are views of a buffer. A buffer may be reused once a chunk of the next one has been requested. */
  readonly chunks: AsyncIterable<Buffer>;
  /** What is said behind the last chunk, to a client that takes trailers. */
  readonly trailers?: () => Readonly<Record<string, string>>;
  /** Aborts when the file may take no longer; its connection then breaks off. */
  readonly signal?: AbortSignal | undefined;
  /** Whether it has one of the places for files, which bound the memory of their chunks. */
  readonly hasPlace?: boolean;
}

/** A 200 whose body is a file. */
export class FileResponse {
  constructor(
    readonly mediaType: string,
    readonly body: Buffer | FileStream,
    /** Headers in addition to the content type. */
    readonly headers: Readonly<Record<string, string>> = {},
  ) {}
}

/** The preferred format of the `Accept` header; the default if it accepts none of them explicitly. */
export const AcceptedFormat = createParamDecorator((_: unknown, context: ExecutionContext): FileFormat => {
  const accepted = findAcceptedType(context.switchToHttp().getRequest<Request>(), Object.values(MEDIA_TYPES));
  return FILE_FORMATS.find((format) => MEDIA_TYPES[format] === accepted) ?? 'ndjson';
});
