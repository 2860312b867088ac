import { rateLimitExceeded, serviceUnavailable } from '../http/api-error.js';
import { MemoryBudget } from './memory-budget.js';

describe('MemoryBudget', () => {
  it('gives one app no more than a quarter while others find room', () => {
    const budget = new MemoryBudget(100);
    const reservations = Array.from({ length: 5 }, () => budget.open(1));
    for (const reservation of reservations) reservation.resize(5);
    expect(() => {
      budget.open(1).resize(1);
    }).toThrow(expect.objectContaining(rateLimitExceeded(1)));
    for (const app of [2, 3, 4]) budget.open(app).resize(25);
    expect(budget.used).toBe(100);
    expect(() => {
      budget.open(5).resize(1);
    }).toThrow(expect.objectContaining(serviceUnavailable()));
    reservations[0]!.release();
    budget.open(5).resize(5);
    expect(budget.used).toBe(100);
  });

  it('takes a message of any size that is the only one of its app and of all', () => {
    const budget = new MemoryBudget(100);
    const large = budget.open(1);
    large.resize(60);
    large.resize(400);
    expect(() => {
      budget.open(1).resize(1);
    }).toThrow(expect.objectContaining(rateLimitExceeded(1)));
    expect(() => {
      budget.open(2).resize(1);
    }).toThrow(expect.objectContaining(serviceUnavailable()));
    large.resize(20);
    budget.open(2).resize(80);
    expect(budget.used).toBe(100);
  });

  it('lets a message shrink where there is no room', () => {
    const budget = new MemoryBudget(100);
    const [one, other] = [budget.open(1), budget.open(2)];
    one.resize(50);
    other.resize(50);
    one.resize(40);
    expect(budget.used).toBe(90);
    one.release();
    one.release();
    expect(budget.used).toBe(50);
  });
});
