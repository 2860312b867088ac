import { type ErrorIdentity, findFingerprint } from './error-fingerprint.js';

const find = (error: Partial<ErrorIdentity>) =>
  findFingerprint({
    method: 'GET',
    path: '/orders/{id}',
    type: 'TypeError',
    message: '',
    location: [],
    stacktrace: '',
    ...error,
  });

/** A stack trace of a language at a line, in a directory of a deployment. */
const TRACES: Readonly<Record<string, (line: number, directory: string, place?: string) => string>> = {
  JavaScript: (line, directory, place = 'priceOf') =>
    `TypeError: no price of order ${line}\n    at ${place} (${directory}/pricing.js:${line}:27)\n` +
    `    at async OrdersService.place (${directory}/orders.js:${line}:5)`,
  Python: (line, directory, place = 'price_of') =>
    `Traceback (most recent call last):\n  File "${directory}/app.py", line ${line}, in handler\n    return price_of(order)\n` +
    `  File "${directory}/pricing.py", line ${line}, in ${place}\n    raise TypeError(order)\nTypeError: ${line}`,
  Java: (line, _, place = 'priceOf') =>
    `java.lang.IllegalStateException: order ${line}\n\tat com.example.Pricing.${place}(Pricing.java:${line})\n` +
    `\tat com.example.Pricing$$Lambda$${line}/0x00007f${line}.apply(Unknown Source)\n\t... ${line} more`,
  '.NET': (line, directory, place = 'PriceOf') =>
    `   at Shop.Pricing.${place}(Int32 id) in ${directory.replaceAll('/', '\\')}\\Pricing.cs:line ${line}`,
  Go: (line, directory, place = 'pricing') =>
    `goroutine ${line} [running]:\nmain.priceOf(0xc000${line})\n\t${directory}/${place}.go:${line} +0x1d\n`,
  PHP: (line, directory, place = 'priceOf') => `#0 ${directory}/pricing.php(${line}): ${place}()\n#1 {main}`,
  Ruby: (line, directory, place = 'price_of') =>
    `${directory}/pricing.rb:${line}:in \`${place}'\n\tfrom ${directory}/app.rb:${line}:in \`call'`,
};

describe('the fingerprint of an error', () => {
  it('is 64 bits, in decimal digits', () => {
    const all = ['', 'a', 'b', 'c'].map((type) => find({ type }));
    expect(new Set(all).size).toBe(all.length);
    for (const fingerprint of all)
      expect(BigInt.asUintN(64, BigInt(fingerprint)).toString()).toBe(fingerprint);
  });

  it.each(Object.entries(TRACES))('of %s has no lines, directories and values', (_, trace) => {
    const fingerprint = find({ stacktrace: trace(41, '/app/releases/20261101'), message: 'order 41' });
    expect(find({ stacktrace: trace(77, '/srv/current'), message: 'order 77 of bob' })).toBe(fingerprint);
    expect(find({ stacktrace: trace(41, '/app/releases/20261101', 'other') })).not.toBe(fingerprint);
  });

  it('tells types and endpoints apart', () => {
    const stacktrace = TRACES.JavaScript!(1, '/app');
    const all = [{}, { type: 'RangeError' }, { method: 'POST' }, { path: '/orders' }, { path: null }];
    expect(new Set(all.map((error) => find({ stacktrace, ...error }))).size).toBe(all.length);
  });

  it('is of the innermost frames', () => {
    const frames = (names: readonly string[]) =>
      names.map((name) => `    at ${name} (/app/a.js:1:1)`).join('\n');
    const inner = ['a', 'b', 'c', 'd', 'e'];
    expect(find({ stacktrace: frames([...inner, 'old']) })).toBe(
      find({ stacktrace: frames([...inner, 'new']) }),
    );
    const python = (names: readonly string[]) =>
      names.map((name) => `  File "/app/a.py", line 1, in ${name}\n    call()`).join('\n');
    expect(find({ stacktrace: python(['old', ...inner]) })).toBe(
      find({ stacktrace: python(['new', ...inner]) }),
    );
  });

  it('of an error without frames is of its message, without values', () => {
    const fingerprint = find({ message: 'user bob@example.com has 3 orders, id 4f3a9c' });
    expect(find({ message: 'user anna@example.com has 12 orders, id 99aa' })).toBe(fingerprint);
    expect(find({ message: 'user has no orders' })).not.toBe(fingerprint);
    expect(find({ message: 'timed out', stacktrace: 'not available' })).toBe(find({ message: 'timed out' }));
  });

  it('of a validation error is of its location, without indexes', () => {
    const fingerprint = find({ message: 'must be an integer', location: ['body', 'items', '0', 'price'] });
    expect(find({ message: 'must be an integer', location: ['body', 'items', '7', 'price'] })).toBe(
      fingerprint,
    );
    expect(find({ message: 'must be an integer', location: ['body', 'items', '0', 'name'] })).not.toBe(
      fingerprint,
    );
  });

  it('takes a few milliseconds for the longest texts', () => {
    const texts = [
      'a'.repeat(65_536),
      `at ${'a'.repeat(65_536)}`,
      'at a\n'.repeat(13_107),
      '/'.repeat(65_536),
      ':1'.repeat(32_768),
    ];
    const startedAt = performance.now();
    for (const text of texts) find({ stacktrace: text, message: text.slice(0, 2_048) });
    expect(performance.now() - startedAt).toBeLessThan(1_000);
  });
});
