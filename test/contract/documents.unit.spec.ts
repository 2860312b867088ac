import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readFileSync, readdirSync, statSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { renderCliDocument } from '../setup/cli-document.js';
import { PASTED_DOCUMENTS, SHELLS, listShellBlocks } from '../setup/document-blocks.js';

const DOCUMENTS = [
  ...readdirSync('.').filter((name) => name.endsWith('.md')),
  ...filesIn('docs').filter((name) => name.endsWith('.md')),
];
const BLOCKS = PASTED_DOCUMENTS.flatMap(listShellBlocks);
const SOURCES = [...filesIn('src'), ...filesIn('test')].filter((name) => name.endsWith('.ts'));

function filesIn(directory: string): string[] {
  return readdirSync(directory, { recursive: true, encoding: 'utf8' }).map((name) => join(directory, name));
}

/** Explicit anchors of a document, and those that GitHub makes of its headings. */
function listAnchors(file: string): Set<string> {
  const text = readFileSync(file, 'utf8').replace(/^```[^]*?^```/gm, '');
  const explicit = [...text.matchAll(/<a id="([^"]+)">/g)].map(([, id = '']) => id);
  const headings = [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  );
  return new Set([...explicit, ...headings]);
}

/** Why a link of a document leads nowhere; undefined if it leads somewhere or out of the project. */
function whyBroken(document: string, target: string): string | undefined {
  if (/^[a-z]+:/.test(target)) return undefined;
  const [path = '', anchor] = target.split('#');
  const file = path === '' ? document : normalize(join(dirname(document), path));
  if (!existsSync(file)) return `${document}: ${target}: no such file`;
  return anchor !== undefined && !listAnchors(file).has(anchor)
    ? `${document}: ${target}: no such anchor`
    : undefined;
}

describe('the documents', () => {
  it.each(DOCUMENTS)('%s has links that lead somewhere', (document) => {
    const text = readFileSync(document, 'utf8').replace(/^ *```[^]*?^ *```/gm, '');
    const targets = [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = '']) => target);
    expect(targets.flatMap((target) => whyBroken(document, target) ?? [])).toEqual([]);
  });

  // What a release or a decision says of its time stays as it is.
  it.each(DOCUMENTS.filter((name) => !/CHANGELOG|decisions/.test(name)))(
    '%s names files that exist',
    (document) => {
      const named = /`((?:src|test|docs|clickhouse)\/(?!.*(?:NNNN|VERSION))[\w./-]+)`/g;
      const files = [...readFileSync(document, 'utf8').matchAll(named)].map(([, file = '']) => file);
      expect(files.filter((file) => !existsSync(file) && !existsSync(join('src', file)))).toEqual([]);
    },
  );

  it('have each rule of the contract that the code cites', () => {
    const rules = listAnchors('docs/contract.md');
    const cited = SOURCES.flatMap((file) =>
      [...readFileSync(file, 'utf8').matchAll(/docs\/contract\.md#([\w-]+)/g)].map(([, rule = '']) => ({
        file,
        rule,
      })),
    );
    expect(cited.filter(({ rule }) => !rules.has(rule))).toEqual([]);
  });

  it('have each table and view of the migrations in the diagrams, and no other', () => {
    const migrations = filesIn('clickhouse/migrations').map((file) => readFileSync(file, 'utf8'));
    const created = migrations.flatMap((text) =>
      [...text.matchAll(/^CREATE (?:TABLE|MATERIALIZED VIEW) IF NOT EXISTS (\w+)/gm)].map(([, name]) => name),
    );
    const text = readFileSync('docs/architecture.md', 'utf8');
    const drawn = created.filter((name) => new RegExp(`\\b${name}\\b`).test(text));
    expect(drawn).toEqual(created);
    const versioned = [...text.matchAll(/\b\w+_v\d+\b/g)].map(([name]) => name);
    expect([...new Set(versioned)].filter((name) => !created.includes(name))).toEqual([]);
  });

  it.each([
    ['logs', /\bINTERVAL 15 DAY\b/],
    ['traffic', /^TTL (?:bucket|day) \+ INTERVAL 13 MONTH\b/m],
  ])('name each table and view that a change of the retention of %s has to change', (_, interval) => {
    const migrations = filesIn('clickhouse/migrations').map((file) => readFileSync(file, 'utf8'));
    const limited = migrations
      .flatMap((text) => text.split('-- statement'))
      .filter((statement) => interval.test(statement))
      .map((statement) => /^CREATE (?:TABLE|MATERIALIZED VIEW) IF NOT EXISTS (\w+)/m.exec(statement)![1]!);
    expect(limited.length).toBeGreaterThan(2);
    const manual = readFileSync('docs/upgrade.md', 'utf8');
    const [, section = ''] = manual.split(/^## Change the retention$/m);
    expect(
      limited
        .filter((name) => !/^(?:counts|bins)_per_/.test(name))
        .filter((name) => !section.includes(`\`${name}\``) && !section.includes(` ${name} `)),
    ).toEqual([]);
  });

  it('name each audited command', () => {
    const commands = filesIn('src/entry/cli').filter((name) => !name.endsWith('spec.ts'));
    const actions = commands.flatMap((file) =>
      [...readFileSync(file, 'utf8').matchAll(/runAudited\(\s*'([^']+)'/g)].map(([, action]) => action),
    );
    const row = /^\| `audit` .*$/m.exec(readFileSync('docs/observe.md', 'utf8'))![0];
    expect(actions.length).toBeGreaterThan(20);
    expect(actions.filter((action) => !row.includes(`\`${action}\``))).toEqual([]);
  });

  it('make each directory once, so that their blocks can be pasted one after another', () => {
    const made = BLOCKS.flatMap(({ text }) => [...text.matchAll(/^mkdir (\S+)/gm)].map(([, name]) => name));
    expect(made.length).toBeGreaterThan(2);
    expect(made).toEqual([...new Set(made)]);
  });

  // An interactive zsh, the shell of macOS, takes them for arguments.
  it('have no comment in a block that is pasted', () => {
    const commented = BLOCKS.flatMap(({ place, text }) =>
      text
        .split('\n')
        .filter((line) => /(?:^|\s)#\s/.test(line))
        .map((line) => `${place}: ${line}`),
    );
    expect(commented).toEqual([]);
  });

  it.each(Object.keys(SHELLS))('have blocks that %s parses', (shell) => {
    if (spawnSync(shell, ['-c', 'true']).status !== 0) return;
    for (const { place, text } of BLOCKS) {
      const { status, stderr } = spawnSync(shell, ['-n'], { input: text, encoding: 'utf8' });
      expect([place, status, stderr]).toEqual([place, 0, '']);
    }
  });

  it('have blocks that a test runs, but for those that need Docker, hours or values of the reader', () => {
    const others = BLOCKS.filter(({ isRun }) => !isRun).filter(
      ({ text }) => !/\bdocker\b|\bhelm\b|^npm run test:|^export \w+=/m.test(text),
    );
    expect(others).toEqual([]);
    expect(BLOCKS.filter(({ isRun }) => isRun).length).toBeGreaterThan(15);
  });

  it('begin with a README that a person reads to its end', () => {
    expect(statSync('README.md').size).toBeLessThanOrEqual(12 * 1024);
  });

  it('have the command line as its help has it: npm run cli:generate', () => {
    const prettier = ['node_modules/prettier/bin/prettier.cjs', '--stdin-filepath', 'docs/cli.md'];
    const formatted = execFileSync(process.execPath, prettier, {
      input: renderCliDocument(),
      encoding: 'utf8',
    });
    expect(readFileSync('docs/cli.md', 'utf8')).toBe(formatted);
  });

  it('have each section of the contract once, and each anchor once', () => {
    const text = readFileSync('docs/contract.md', 'utf8');
    const sections = [...text.matchAll(/^## (\d+)\. /gm)].map(([, number]) => Number(number));
    expect(sections).toEqual(sections.map((_, index) => index + 1));
    const ids = [...text.matchAll(/<a id="([^"]+)">/g)].map(([, id]) => id);
    expect(ids).toEqual([...new Set(ids)]);
  });
});
