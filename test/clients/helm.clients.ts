import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CORE_SCHEMA, load, loadAll, mergeTag } from 'js-yaml';
import { Config } from '../../src/config/config.js';
import { type Packages, findObstacle, install, locate } from './packages.js';

const INSTALLED_WITHIN_MS = 600_000;
const directory = 'helm';
const HELM: Packages = {
  directory,
  registry: 'Go modules',
  needs: ['go', 'npm'],
  install: [
    [
      'npm',
      'install',
      '--prefix',
      '.',
      '--no-audit',
      '--no-fund',
      'kubernetes-models@5.1.0',
      '@kubernetes-models/prometheus-operator@6.0.0',
    ],
    [
      'env',
      `GOBIN=${join(process.cwd(), '.cache/clients', directory)}`,
      'go',
      'install',
      'helm.sh/helm/v3/cmd/helm@v3.18.6',
    ],
  ],
};

/** Reads objects of Kubernetes from standard input and writes one text for each that its schema rejects. */
const VALIDATE = `
import { readFileSync } from 'node:fs';
const rejected = [];
for (const object of JSON.parse(readFileSync(0, 'utf8'))) {
  const { apiVersion, kind, metadata } = object;
  const models = apiVersion.startsWith('monitoring.coreos.com/') ? '@kubernetes-models/prometheus-operator' : 'kubernetes-models';
  const { [kind]: Model } = await import(models + '/' + apiVersion + '/' + kind);
  try {
    new Model(object).validate();
  } catch (error) {
    rejected.push(kind + ' ' + metadata.name + ': ' + error.message);
  }
}
process.stdout.write(JSON.stringify(rejected));
`;

interface KubernetesObject {
  apiVersion: string;
  kind: string;
  metadata: { name: string; annotations?: Record<string, string> };
  spec?: Record<string, unknown> & { template?: { spec: PodSpec } };
}

interface PodSpec {
  enableServiceLinks: unknown;
  securityContext: unknown;
  containers: {
    image: string;
    args?: string[];
    command?: string[];
    env: { name: string; value?: string; valueFrom?: { secretKeyRef: { name: string; key: string } } }[];
    securityContext: unknown;
  }[];
}

const ALL = [
  'accounts.enabled=true',
  'ingress.enabled=true',
  'networkPolicy.enabled=true',
  'serviceMonitor.enabled=true',
  'serviceMonitor.labels.release=prometheus',
  'config.LOG_LEVEL=debug',
];
const URL = 'clickhouse.url=http://clickhouse:8123';

describe('docs/helm', () => {
  const work = mkdtempSync(join(tmpdir(), 'helm-'));
  let obstacle: string | undefined;

  beforeAll(async () => {
    await install(HELM);
    obstacle = findObstacle(HELM);
    if (obstacle !== undefined) process.stderr.write(`skipped: the Helm chart, because ${obstacle}\n`);
  }, INSTALLED_WITHIN_MS);

  afterAll(() => {
    rmSync(work, { recursive: true });
  });

  const run = (...args: string[]) =>
    spawnSync(join(locate(HELM), 'helm'), args, { encoding: 'utf8', env: { ...process.env, HOME: work } });

  function render(...values: string[]): KubernetesObject[] {
    const set = values.flatMap((value) => ['--set', value]);
    const { status, stdout, stderr } = run(
      'template',
      'request-analytics',
      'docs/helm',
      '--kube-version',
      '1.34.0',
      ...set,
    );
    expect([status, stderr]).toEqual([0, '']);
    return loadAll(stdout, { schema: CORE_SCHEMA }).filter(Boolean) as KubernetesObject[];
  }

  function listRejected(objects: readonly KubernetesObject[]): unknown {
    const file = join(locate(HELM), 'validate.mjs');
    writeFileSync(file, VALIDATE);
    return JSON.parse(
      execFileSync(process.execPath, [file], { input: JSON.stringify(objects), encoding: 'utf8' }),
    );
  }

  const example = (
    load(readFileSync('docs/kubernetes.yaml', 'utf8'), { schema: CORE_SCHEMA.withTags(mergeTag) }) as {
      items: KubernetesObject[];
    }
  ).items;

  it('renders objects that the schemas of Kubernetes accept, as does docs/kubernetes.yaml', () => {
    if (obstacle !== undefined) return;
    for (const objects of [render(URL), render(URL, ...ALL), example])
      expect(listRejected(objects)).toEqual([]);
    const [deployment] = render(URL).filter(({ kind }) => kind === 'Deployment');
    const wrong = { ...deployment!, spec: { ...deployment!.spec, replicas: 'two' } };
    expect(listRejected([wrong])).toEqual([expect.stringContaining('/spec/replicas')]);
  });

  it('gives pods the time of SHUTDOWN_DELAY_MS to stop', () => {
    if (obstacle !== undefined) return;
    const pods = render(URL, 'config.SHUTDOWN_DELAY_MS=60000')
      .filter(({ kind }) => kind === 'Deployment')
      .map(({ spec }) => spec?.template?.spec);
    expect(pods).toMatchObject(Array(2).fill({ terminationGracePeriodSeconds: 78 }));
  });

  it('renders what docs/kubernetes.yaml has: the same kinds, variables, secrets and limits of containers', () => {
    if (obstacle !== undefined) return;
    const all = render(URL, ...ALL);
    const kinds = (objects: readonly KubernetesObject[]) =>
      [...new Set(objects.map(({ kind }) => kind))].sort();
    // The chart has its variables in the containers.
    expect(kinds(all)).toEqual(kinds(example).filter((kind) => kind !== 'ConfigMap'));
    const containers = (objects: readonly KubernetesObject[]) =>
      objects.flatMap(({ spec }) =>
        (spec?.template?.spec.containers ?? []).map((container) => ({
          ...container,
          pod: spec!.template!.spec,
        })),
      );
    const findSecrets = (objects: readonly KubernetesObject[]) =>
      [
        ...new Set(
          containers(objects).flatMap(({ env }) =>
            env.flatMap(({ name, valueFrom }) =>
              valueFrom ? [`${name} ${valueFrom.secretKeyRef.name} ${valueFrom.secretKeyRef.key}`] : [],
            ),
          ),
        ),
      ].sort();
    expect(findSecrets(all)).toEqual(findSecrets(example));
    const hardening = (objects: readonly KubernetesObject[]) =>
      new Set(
        containers(objects).map(({ securityContext, pod }) =>
          JSON.stringify([securityContext, pod.securityContext, pod.enableServiceLinks]),
        ),
      );
    expect(hardening(all)).toEqual(hardening(example));
    for (const { command, env } of containers(all).filter(({ image }) =>
      image.startsWith('request-analytics'),
    )) {
      const values = Object.fromEntries(
        env.flatMap(({ name, value }) => (value === undefined ? [] : [[name, value]])),
      );
      expect([command, new Config(values).logLevel]).toEqual([command, 'debug']);
    }
  });

  it('installs accounts first, then the schema, then the deployments; either can be left out', () => {
    if (obstacle !== undefined) return;
    const weights = render(URL, ...ALL).flatMap(({ metadata: { name, annotations } }) => {
      const weight = annotations?.['helm.sh/hook-weight'];
      return weight === undefined ? [] : [[name, Number(weight)]];
    });
    expect(weights).toEqual([
      ['request-analytics-accounts', -10],
      ['request-analytics-migrate', -5],
    ]);
    expect(render(URL, 'migrate.enabled=false').some(({ kind }) => kind === 'Job')).toBe(false);
  });

  it('is refused without the address of ClickHouse or a Secret, and has nothing for helm to complain of', () => {
    if (obstacle !== undefined) return;
    const template = ['template', 'x', 'docs/helm', '--kube-version', '1.34.0'];
    expect(run(...template).stderr).toContain('clickhouse.url is required');
    expect(run(...template, '--set', URL, '--set', 'existingSecret=').stderr).toContain(
      'existingSecret is required',
    );
    expect(run('lint', '--strict', 'docs/helm', '--set', URL)).toMatchObject({ status: 0 });
  });
});
