import { findClientAddress } from './client-address.js';

describe('findClientAddress', () => {
  it.each([
    ['8.8.8.8', [['X-Forwarded-For', '8.8.8.8']]],
    ['8.8.8.8', [['x-forwarded-for', '10.0.0.1, 8.8.8.8, 1.1.1.1']]],
    ['8.8.8.8', [['x-forwarded-for', ' 8.8.8.8:4711 ,10.0.0.1']]],
    ['2606:4700::1111', [['x-forwarded-for', '[2606:4700::1111]:443']]],
    ['2606:4700::1111', [['forwarded', 'for="[2606:4700::1111]:47011";proto=https, for=8.8.8.8']]],
    ['8.8.8.8', [['Forwarded', 'by=1.1.1.1; For=8.8.8.8']]],
    ['8.8.8.8', [['x-real-ip', '8.8.8.8']]],
    ['8.8.8.8', [['cf-connecting-ip', '8.8.8.8']]],
    ['8.8.8.8', [['true-client-ip', '8.8.8.8']]],
    [
      '8.8.8.8',
      [
        ['x-forwarded-for', '10.0.0.1'],
        ['x-real-ip', '8.8.8.8'],
      ],
    ],
    ['10.0.0.1', [['x-forwarded-for', 'unknown, 10.0.0.1, 192.168.0.1']]],
    [null, [['x-forwarded-for', 'unknown']]],
    [null, [['forwarded', 'for=_hidden']]],
    [null, [['x-forwarded-for', '******']]],
    [null, [['host', '8.8.8.8']]],
    [null, []],
  ] as [string | null, [string, string][]][])('is %p for %j', (address, headers) => {
    expect(findClientAddress(headers)).toBe(address);
  });
});
