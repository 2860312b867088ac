import { rateLimitExceeded, serviceUnavailable } from '../../platform/http/api-error.js';
import { MemoryBudget } from './memory-budget.js';

/** An app of its own team by default. */
const app = (id: number, team_id = id) => ({ id, team_id });

describe('MemoryBudget', () => {
  it('gives one app no more than a quarter while others find room', () => {
    const budget = new MemoryBudget(100);
    const reservations = Array.from({ length: 5 }, () => budget.open(app(1)));
    for (const reservation of reservations) reservation.admit(5);
    expect(() => {
      budget.open(app(1)).admit(1);
    }).toThrow(expect.objectContaining(rateLimitExceeded(1)));
    for (const id of [2, 3, 4]) budget.open(app(id)).admit(25);
    expect(budget.used).toBe(100);
    expect(() => {
      budget.open(app(5)).admit(1);
    }).toThrow(expect.objectContaining(serviceUnavailable()));
    reservations[0]!.release();
    budget.open(app(5)).admit(5);
    expect(budget.used).toBe(100);
  });

  it('takes a message of any size that is the only one of its app and of all', () => {
    const budget = new MemoryBudget(100);
    const large = budget.open(app(1));
    large.admit(60);
    large.admit(400);
    expect(() => {
      budget.open(app(1)).admit(1);
    }).toThrow(expect.objectContaining(rateLimitExceeded(1)));
    expect(() => {
      budget.open(app(2)).admit(1);
    }).toThrow(expect.objectContaining(serviceUnavailable()));
    large.admit(20);
    budget.open(app(2)).admit(80);
    expect(budget.used).toBe(100);
  });

  it('leaves a quarter to other teams, however large the messages of a team', () => {
    const budget = new MemoryBudget(100);
    const team = 7;
    budget.open(app(1, team)).resize(60);
    expect(() => {
      budget.open(app(2, team)).resize(16);
    }).toThrow(expect.objectContaining(rateLimitExceeded(1)));
    budget.open(app(2, team)).resize(15);
    budget.open(app(3, 8)).admit(25);
    expect(budget.used).toBe(100);
  });

  it('admits no more unparsed messages than have room once they are parsed, two at once', () => {
    const budget = new MemoryBudget(1_000);
    const [bytes, rows] = [3, 30];
    const outcomes = { stored: 0, rejectedUnparsed: 0 };
    const parsing: { resize(bytes: number): void }[] = [];
    for (let message = 0; message < 200; message++) {
      const reservation = budget.open(app(message % 20, 1));
      try {
        reservation.admit(bytes);
        reservation.admit(bytes);
        parsing.push(reservation);
      } catch {
        outcomes.rejectedUnparsed += 1;
      }
      if (parsing.length < 2) continue;
      parsing.shift()!.resize(rows);
      outcomes.stored += 1;
    }
    expect(outcomes).toEqual({ stored: 20, rejectedUnparsed: 179 });
    expect(budget.used).toBe(20 * rows + bytes);
  });

  it('lets rows of a message exceed a share by a quarter, and rejects an admitted one before it is parsed then', () => {
    const budget = new MemoryBudget(100);
    const [first, second, last] = [budget.open(app(1)), budget.open(app(1)), budget.open(app(1))];
    for (const reservation of [first, second, last]) reservation.admit(5);
    first.resize(20);
    expect(() => {
      last.admit(5);
    }).toThrow(expect.objectContaining(rateLimitExceeded(1)));
    last.release();
    second.resize(11);
    expect(() => {
      second.resize(12);
    }).toThrow(expect.objectContaining(rateLimitExceeded(1)));
    for (const id of [2, 3, 4]) budget.open(app(id)).admit(23);
    expect(() => {
      budget.open(app(5)).admit(1);
    }).toThrow(expect.objectContaining(serviceUnavailable()));
    expect(budget.used).toBe(100);
  });

  it('lets a message shrink where there is no room', () => {
    const budget = new MemoryBudget(100);
    const [first, second] = [budget.open(app(1)), budget.open(app(2))];
    first.admit(50);
    second.admit(50);
    first.resize(40);
    expect(budget.used).toBe(90);
    first.release();
    first.release();
    expect(budget.used).toBe(50);
  });
});
