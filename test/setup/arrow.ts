import { CompressionType, compressionRegistry, tableFromIPC } from 'apache-arrow';
import { decompressFrameSync } from 'lz4-napi';

compressionRegistry.set(CompressionType.LZ4_FRAME, {
  decode: (bytes) => new Uint8Array(decompressFrameSync(Buffer.from(bytes))),
});

/** An Arrow stream: the fields of its schema as text, and the values of each row. */
export function readArrow(bytes: Buffer): { fields: string[]; rows: unknown[][] } {
  const table = tableFromIPC(bytes);
  const fields = table.schema.fields.map(
    ({ name, type, nullable }) => `${name} ${String(type)}${nullable ? '' : ' not null'}`,
  );
  const columns = table.schema.fields.map((_, index) => table.getChildAt(index)!);
  const rows = Array.from({ length: table.numRows }, (_, row) =>
    columns.map((column) => column.get(row) as unknown),
  );
  return { fields, rows };
}
