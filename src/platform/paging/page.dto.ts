import type { Type } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import type { JsonLines } from '../../store/client/json-lines.js';
import { EXAMPLES } from '../openapi/examples.js';

const HEAD = '{"data":[';

/** The page envelope: `next_token` is present only if `has_more` is true (docs/contract.md#page-envelope). */
export interface Page<Item> {
  data: Item[];
  has_more: boolean;
  next_token?: string;
}

/** A class for the document: the page envelope around one kind of item. */
export function PageType<Item>(item: Type<Item>, order: string): Type<Page<Item>> {
  class ItemPage implements Page<Item> {
    @ApiProperty({ type: () => [item], description: `Items of this page: ${order}` })
    data: Item[];

    @ApiProperty({ type: 'boolean', description: 'Whether more items exist', example: true })
    has_more: boolean;

    @ApiProperty({
      type: 'string',
      required: false,
      maxLength: 1024,
      description: 'Token for the next page; present only when `has_more` is true',
      example: EXAMPLES.next_token,
    })
    next_token?: string;
  }
  Object.defineProperty(ItemPage, 'name', { value: `${item.name}Page` });
  return ItemPage;
}

/** The page envelope around items in JSON text. */
export function framePage(items: readonly string[], nextToken: string | undefined): string {
  return `${HEAD}${items.join(',')}${buildTail(nextToken)}`;
}

/**
 * The page envelope around the first `limit` rows, as the engine wrote them: framed, neither parsed nor
 * decoded, which is faster and keeps 64-bit integers exact.
 */
export function frameLines(rows: JsonLines, limit: number, nextToken: string | undefined): Buffer {
  return Buffer.concat([Buffer.from(HEAD), rows.joinFirst(limit), Buffer.from(buildTail(nextToken))]);
}

function buildTail(nextToken: string | undefined): string {
  return nextToken === undefined ? '],"has_more":false}' : `],"has_more":true,"next_token":"${nextToken}"}`;
}
