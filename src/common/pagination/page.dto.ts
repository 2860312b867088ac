import type { Type } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import { EXAMPLES } from '../openapi/examples.js';

/** The page envelope: `next_token` is there only when `has_more` is true (contract, section 6). */
export interface Page<Item> {
  data: Item[];
  has_more: boolean;
  next_token?: string;
}

/** A class for the document: the page envelope around one kind of item. */
export function PageOf<Item>(item: Type<Item>, order: string): Type<Page<Item>> {
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

/**
 * The page envelope around items that the engine already wrote as JSON: framed, not parsed, which is both faster and
 * keeps 64-bit integers exact.
 */
export function framePage(items: readonly string[], nextToken: string | undefined): string {
  const data = `{"data":[${items.join(',')}],"has_more":`;
  return nextToken === undefined ? `${data}false}` : `${data}true,"next_token":"${nextToken}"}`;
}
