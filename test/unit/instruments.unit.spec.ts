import fc from 'fast-check';
import { getValue, parseExposition } from '../setup/exposition.js';
import { Counter, Gauge, Histogram } from '../../src/telemetry/metrics/instruments.js';

describe('the text of metrics', () => {
  it('is readable for Prometheus, with any label values', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (help, value) => {
        const counter = new Counter({
          name: 'things_total',
          help: `Help ${help.replaceAll('\r', '')}`,
          labels: ['kind'],
        });
        counter.add([value]);
        expect(parseExposition(counter.text())).toEqual([
          { name: 'things_total', labels: { kind: value }, value: 1 },
        ]);
      }),
    );
  });

  it('has a counter without labels from the start', () => {
    expect(parseExposition(new Counter({ name: 'things_total', help: 'Things' }).text())).toEqual([
      { name: 'things_total', labels: {}, value: 0 },
    ]);
  });

  it('asks a gauge each time', () => {
    let value = 1;
    const gauge = new Gauge({ name: 'load', help: 'Load', labels: ['state'] }, () => [
      { values: ['a'], value },
    ]);
    const read = () => getValue(parseExposition(gauge.text()), 'load', { state: 'a' });
    expect(read()).toBe(1);
    value = NaN;
    expect(read()).toBeNaN();
    value = Infinity;
    expect(read()).toBe(Infinity);
  });

  it('puts a value into the first bucket whose bound it does not pass', () => {
    const bounds = [0.1, 1, 5];
    fc.assert(
      fc.property(fc.array(fc.double({ min: 0, max: 10, noNaN: true }), { maxLength: 50 }), (values) => {
        const histogram = new Histogram({ name: 'h', help: 'H', labels: ['a', 'b'] }, bounds);
        for (const value of values) histogram.observe(['x', 200], value);
        const samples = parseExposition(histogram.text());
        for (const bound of [...bounds, Infinity]) {
          const le = bound === Infinity ? '+Inf' : String(bound);
          const counted = getValue(samples, 'h_bucket', { a: 'x', b: '200', le }) ?? 0;
          expect(counted).toBe(values.filter((value) => value <= bound).length);
        }
        expect(getValue(samples, 'h_count') ?? 0).toBe(values.length);
        expect(getValue(samples, 'h_sum') ?? 0).toBeCloseTo(
          values.reduce((sum, value) => sum + value, 0),
          6,
        );
      }),
    );
  });
});
