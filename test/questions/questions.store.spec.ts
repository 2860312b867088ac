import type { Client } from '@modelcontextprotocol/client';
import { TestApp } from '../setup/app.js';
import { type ToolResponse, callTool, connectClient, readRows } from '../setup/mcp.js';
import { Tenant } from '../setup/tenant.js';
import { generateIncidents } from './incidents.js';
import { QUESTIONS, Truth } from './questions.js';

const MAX_CALLS = 4;
const MAX_TOKENS = 10_000;

describe('questions about incidents', () => {
  let app: TestApp;
  let client: Client;
  const records = generateIncidents();
  const truth = new Truth([...records].sort((a, b) => a.timestamp - b.timestamp));

  beforeAll(async () => {
    app = await TestApp.start();
    const tenant = await Tenant.create(app);
    await app.writer.write(tenant.appId, records);
    client = await connectClient(app.url, { 'Api-Key': tenant.key });
  });
  afterAll(async () => {
    await client.close();
    await app.stop();
  });

  it('are thirty, over a week of some thousands of requests', () => {
    expect(new Set(QUESTIONS.map(({ question }) => question)).size).toBe(30);
    expect(records.length).toBeGreaterThan(2_000);
  });

  it.each(QUESTIONS.map((question) => [question.question, question] as const))(
    '%s',
    async (_, { calls, rows, texts }) => {
      const answers: ToolResponse[] = [];
      for (const call of calls) {
        const [tool, args] = typeof call === 'function' ? call(answers, readRows) : call;
        const answer = await callTool(client, tool, args);
        expect([answer.isError, answer.text]).toEqual([false, answer.text]);
        answers.push(answer);
      }
      expect(answers.length).toBeLessThanOrEqual(MAX_CALLS);
      expect(answers.reduce((sum, { tokens }) => sum + tokens, 0)).toBeLessThanOrEqual(MAX_TOKENS);
      const found = answers.filter(hasRows).flatMap(readRows);
      const [expectedRows, expectedTexts] = [rows?.(truth) ?? [], texts?.(truth) ?? []];
      expect(expectedRows.length + expectedTexts.length).toBeGreaterThan(0);
      for (const row of expectedRows) {
        const hit = found.find((candidate) =>
          Object.entries(row).every(([name, value]) => isSame(candidate[name], value)),
        );
        expect(hit ?? { missing: row, found }).toBe(hit);
      }
      const text = answers.map((answer) => answer.text).join('\n');
      for (const expected of expectedTexts) expect(text).toContain(expected);
    },
  );
});

function isSame(actual: unknown, expected: unknown): boolean {
  if (typeof expected !== 'object' || expected === null) return actual === expected;
  const { about, within } = expected as { about: number; within: number };
  return typeof actual === 'number' && Math.abs(actual - about) <= within;
}

function hasRows({ structured: { untrusted } }: ToolResponse): boolean {
  return 'rows' in untrusted;
}
