import { ClickHouseError } from '@clickhouse/client';
import {
  DiskFull,
  QueryTimedOut,
  StoreUnavailable,
  StoredDataDamaged,
  isClosedConnection,
  isOutcomeUnknown,
  toStoreError,
} from './clickhouse.errors.js';

const ofEngine = (code: string) => new ClickHouseError({ message: 'words', code, type: 'NAME' });
const ofNetwork = (code: string) => Object.assign(new Error('words'), { code });

describe('toStoreError', () => {
  it.each(['76', '202', '241', '516', '60', '81', '164', '452', '999'])(
    'the engine’s %s: not available',
    (code) => {
      expect(toStoreError(ofEngine(code), 'server')).toBeInstanceOf(StoreUnavailable);
      expect(toStoreError(ofEngine(code), 'embedded')).toBeInstanceOf(StoreUnavailable);
    },
  );

  it.each(['40', '33', '246', '107', '740'])('the engine’s %s: stored data is damaged', (code) => {
    for (const kind of ['server', 'embedded'] as const) {
      const error = toStoreError(ofEngine(code), kind);
      expect(error).toBeInstanceOf(StoredDataDamaged);
      expect(error).toMatchObject({ message: `stored data is damaged (${code})` });
    }
  });

  it.each([
    ofEngine('243'),
    new ClickHouseError({
      message: 'Cannot write to file, errno: 28, strerror: No space left on device: While executing. ',
      code: '75',
      type: 'CANNOT_WRITE_TO_FILE_DESCRIPTOR',
    }),
    Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' }),
  ])('the disk is full: %s', (cause) => {
    for (const kind of ['server', 'embedded'] as const) {
      const error = toStoreError(cause, kind);
      expect(error).toBeInstanceOf(DiskFull);
      expect(error).toMatchObject({
        message: `the disk of the store is full (${(cause as ClickHouseError).code}); doctor says how much is free`,
      });
      // What was written before may be there.
      expect(isOutcomeUnknown(error)).toBe(true);
    }
  });

  it('damage leaves nothing open about a write', () => {
    expect([
      isOutcomeUnknown(toStoreError(ofEngine('40'))),
      isOutcomeUnknown(toStoreError(ofEngine('241'))),
    ]).toEqual([false, true]);
  });

  it.each(['159', '160'])('the engine’s %s: timed out', (code) => {
    expect(toStoreError(ofEngine(code), 'server')).toBeInstanceOf(QueryTimedOut);
  });

  it.each([ofEngine('62'), ofEngine('47'), new TypeError('ours'), new StoreUnavailable('said already')])(
    'leaves %s',
    (error) => {
      expect(toStoreError(error, 'server')).toBe(error);
      expect(toStoreError(error, 'embedded')).toBe(error);
    },
  );

  it.each([
    ofNetwork('ECONNREFUSED'),
    ofNetwork('ENOTFOUND'),
    ofNetwork('CERT_HAS_EXPIRED'),
    ofNetwork('HPE_INVALID_CONSTANT'),
    new Error('<html>Bad Gateway</html>'),
  ])('maps %s of a server to a network error', (error) => {
    expect(toStoreError(error, 'server')).toBeInstanceOf(StoreUnavailable);
    expect(toStoreError(error, 'embedded')).toBe(error);
  });

  it('has the code for the log, and not the message', () => {
    expect(toStoreError(ofEngine('241'), 'server')).toMatchObject({ message: 'store not available (241)' });
    expect(toStoreError(new Error('words'), 'server')).toMatchObject({
      message: 'store not available (no response from the engine)',
    });
  });
});

it.each([
  [ofNetwork('ECONNRESET'), true],
  [ofNetwork('EPIPE'), true],
  [ofNetwork('ECONNREFUSED'), false],
  [ofEngine('210'), false],
  [undefined, false],
])('isClosedConnection: %s is %s', (error, expected) => {
  expect(isClosedConnection(error)).toBe(expected);
});
