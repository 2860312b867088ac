import { finish } from '../shared/async/slices.js';
import { encodePieces } from './row-encoder.js';

interface Row {
  app_id: number;
  text?: string;
}

const encode = (rows: readonly Row[]) =>
  finish(encodePieces('requests', rows, (row) => row)).map(
    ({ rows: text }) => JSON.parse(`[${text}]`) as unknown[],
  );

describe('encodePieces', () => {
  it('returns the names of the columns and the values of each row', () => {
    expect(
      encode([
        { app_id: 1, text: 'a' },
        { app_id: 2, text: '"\n' },
      ]),
    ).toEqual([
      [
        ['app_id', 'text'],
        [1, 'a'],
        [2, '"\n'],
      ],
    ]);
  });

  it('puts each value into its column, whatever the order of the members, and null for a missing one', () => {
    expect(encode([{ app_id: 1, text: 'a' }, { text: 'b', app_id: 2 }, { app_id: 3 }])).toEqual([
      [
        ['app_id', 'text'],
        [1, 'a'],
        [2, 'b'],
        [3, null],
      ],
    ]);
  });

  it('escapes a long text in parts, each with both halves of its pairs of surrogates', () => {
    const texts = ['"', '\ud83d\ude00', 'é\n', 'a\ud83d\ude00'].map((unit) => unit.repeat(400_000));
    const rows = texts.map((text) => ({ app_id: 1, text, lone: `\ud83d${text}` }));
    const [piece] = finish(
      encodePieces(
        'requests',
        rows,
        (row) => row,
        () => 1024 * 1024,
      ),
    );
    expect(piece?.rows).toBe(
      [
        JSON.stringify(['app_id', 'text', 'lone']),
        ...rows.map((row) => JSON.stringify(Object.values(row))),
      ].join(),
    );
  });

  it('begins each piece with the names', () => {
    const text = 'x'.repeat(13 * 1024 * 1024);
    const rows = [1, 2, 3].map((app_id) => ({ app_id, text }));
    const pieces = finish(
      encodePieces(
        'requests',
        rows,
        (row) => row,
        () => text.length,
      ),
    );
    expect(pieces.map(({ rows: pieceRows }) => JSON.parse(`[${pieceRows}]`) as unknown[])).toEqual(
      [1, 2, 3].map((app_id) => [
        ['app_id', 'text'],
        [app_id, text],
      ]),
    );
  });

  it('returns nothing without rows', () => {
    expect(encode([])).toEqual([]);
  });
});
