import { describe, expect, it } from 'vitest';
import { Heights } from './heights';

const keys = (n: number) => Array.from({ length: n }, (_, i) => `k${i}`);

describe('Heights', () => {
  it('estimates what it has not seen and keeps what it measured', () => {
    const h = new Heights();
    h.set(keys(3), () => 10);
    expect(h.total).toBe(30);
    expect(h.measure('k1', 25)).toBe(true);
    expect(h.measure('k1', 25)).toBe(false);
    expect([h.offset(0), h.offset(1), h.offset(2), h.total]).toEqual([0, 10, 35, 45]);
    h.set(['new', ...keys(3)], () => 10);
    expect(h.total).toBe(55);
    expect(h.offset(h.indexOf('k2'))).toBe(45);
  });

  it('finds the row at any height', () => {
    const h = new Heights();
    h.set(keys(4), (i) => (i + 1) * 10);
    expect([0, 9.9, 10, 29, 30, 60, 99, 100, 5000].map((y) => h.at(y))).toEqual([0, 0, 1, 1, 2, 3, 3, 3, 3]);
  });

  it('forgets a height that was measured for a row that is gone only when it must', () => {
    const h = new Heights();
    h.set(keys(1), () => 10);
    expect(h.measure('elsewhere', 99)).toBe(false);
    h.set(['elsewhere'], () => 10);
    expect(h.total).toBe(99);
  });

  // R157
  it('finds its way among 100,000 rows at once', () => {
    const h = new Heights();
    h.set(keys(100_000), () => 28);
    for (let i = 0; i < 1000; i++) h.measure(`k${i * 97}`, 40 + (i % 7));
    const y = h.offset(60_000);
    expect(h.at(y)).toBe(60_000);
    expect(h.at(y - 0.5)).toBe(59_999);
  });
});
