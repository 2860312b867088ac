import { readdirSync } from 'node:fs';
import { findEmptyFolders, findSuites } from './touched-suites.js';

const suites = readdirSync('test', { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('spec.ts'))
  .map((name) => `test/${name}`);

it('each suite says in its name what it needs', () => {
  const names = readdirSync('src', { recursive: true, encoding: 'utf8' }).map((name) => `src/${name}`);
  const all = [...suites, ...names.filter((name) => name.endsWith('spec.ts'))];
  expect(all.filter((name) => !/\.(unit|store|process|slow)\.spec\.ts$/.test(name))).toEqual([]);
});

describe('the suites of what was changed', () => {
  it('are there for each folder of the list', () => {
    expect(findEmptyFolders(suites)).toEqual([]);
  });

  it('are those of the most special folder, and suites that were changed themselves', () => {
    const all = ['test/e2e/team.store.spec.ts', 'test/e2e/apps.store.spec.ts', 'test/e2e/mcp.store.spec.ts'];
    expect(findSuites(['src/api/team/team.service.ts', all[2]!], all)).toEqual([all[0], all[2]]);
  });

  it('need no build and are not slow', () => {
    const all = ['test/e2e/mcp.process.spec.ts', 'test/e2e/mcp-untrusted.slow.spec.ts'];
    expect(findSuites(['src/mcp/tools.ts', ...all], all)).toEqual([]);
  });

  it('are none of a text for people', () => {
    expect(findSuites(['docs/operations.md'], suites)).toEqual([]);
  });
});
