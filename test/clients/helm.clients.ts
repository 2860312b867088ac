import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CORE_SCHEMA, load, loadAll } from 'js-yaml';
import { Config } from '../../src/config/config.js';
import { PRODUCT_VERSION } from '../../src/config/version.js';
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
  metadata: { name: string; labels?: Labels; annotations?: Record<string, string> };
  spec?: Record<string, unknown> & { template?: { metadata: { labels: Labels }; spec: PodSpec } };
}

type Labels = Readonly<Record<string, string>>;

interface PodSpec {
  enableServiceLinks: unknown;
  securityContext: object;
  containers: Container[];
}

interface Container {
  image: string;
  args?: string[];
  command?: string[];
  env: { name: string; value?: string; valueFrom?: { secretKeyRef: { name: string; key: string } } }[];
  ports?: { name: string }[];
  securityContext: object;
}

interface Ingress {
  tls: { hosts: string[]; secretName: string }[];
  rules: {
    host: string;
    http: { paths: { backend: { service: { name: string; port: { name: string } } } }[] };
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

  it('renders objects that the schemas of Kubernetes accept', () => {
    if (obstacle !== undefined) return;
    for (const objects of [render(URL), render(URL, ...ALL)]) expect(listRejected(objects)).toEqual([]);
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

  const all = (kind: string) => render(URL, ...ALL).filter((object) => object.kind === kind);
  const listPods = () =>
    render(URL, ...ALL).flatMap(({ metadata, spec }) =>
      spec?.template ? [{ name: metadata.name, ...spec.template }] : [],
    );
  const selects = (labels: Labels, { matchLabels }: { matchLabels: Labels }) =>
    Object.entries(matchLabels).every(([name, value]) => labels[name] === value);

  it('names each thing once, of a known version', () => {
    if (obstacle !== undefined) return;
    const objects = render(URL, ...ALL);
    const names = objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`);
    expect(new Set(names).size).toBe(names.length);
    expect([...new Set(objects.map(({ apiVersion, kind }) => `${kind} ${apiVersion}`))].sort()).toEqual([
      'Deployment apps/v1',
      'HorizontalPodAutoscaler autoscaling/v2',
      'Ingress networking.k8s.io/v1',
      'Job batch/v1',
      'NetworkPolicy networking.k8s.io/v1',
      'PodDisruptionBudget policy/v1',
      'Service v1',
      'ServiceMonitor monitoring.coreos.com/v1',
    ]);
  });

  it('configures containers of this version with what they take, and with secrets of the Secret alone', () => {
    if (obstacle !== undefined) return;
    const values = readFileSync('docs/helm/values.yaml', 'utf8');
    for (const { name, spec } of listPods())
      for (const { image, env } of spec.containers) {
        const literals = Object.fromEntries(
          env.flatMap((variable) => (variable.value === undefined ? [] : [[variable.name, variable.value]])),
        );
        if (image.startsWith('request-analytics'))
          expect([name, image, new Config(literals).logLevel]).toEqual([
            name,
            `request-analytics-api:${PRODUCT_VERSION}`,
            'debug',
          ]);
        expect(Object.keys(literals).filter((name) => /PASSWORD|SECRET|REDIS_URL/.test(name))).toEqual([]);
        const secrets = env.flatMap(({ valueFrom }) => (valueFrom ? [valueFrom.secretKeyRef] : []));
        expect(secrets.length).toBeGreaterThan(1);
        for (const { name: secret, key } of secrets) {
          expect(secret).toBe('request-analytics');
          expect(values).toContain(`--from-file=${key}`);
        }
      }
    expect(values).not.toContain('--from-literal');
  });

  it('gives containers no right that they do not need, and no variable of the services beside them', () => {
    if (obstacle !== undefined) return;
    for (const { name, spec } of listPods()) {
      expect({ name, ...spec }).toMatchObject({
        name,
        automountServiceAccountToken: false,
        // A Service named collector would set COLLECTOR_PORT to a URL.
        enableServiceLinks: false,
        securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
      });
      for (const { securityContext } of spec.containers)
        expect([name, securityContext]).toEqual([
          name,
          {
            allowPrivilegeEscalation: false,
            readOnlyRootFilesystem: true,
            capabilities: { drop: ['ALL'] },
          },
        ]);
    }
  });

  it('makes the accounts as docker-compose.yml does', () => {
    if (obstacle !== undefined) return;
    const compose = load(readFileSync('docker-compose.yml', 'utf8')) as {
      services: { accounts: { image: string; command: string[] } };
    };
    const { image, command } = compose.services.accounts;
    const accounts = listPods().find(({ name }) => name === 'request-analytics-accounts')!.spec
      .containers[0]!;
    expect(accounts.image).toBe(image);
    const script = accounts
      .args!.join()
      .replace('--host "$CLICKHOUSE_HOST" --port "$CLICKHOUSE_PORT"', '--host clickhouse')
      .replace(
        '"CREATE DATABASE IF NOT EXISTS $DATABASE"',
        "'CREATE DATABASE IF NOT EXISTS request_analytics'",
      )
      .replaceAll('"$DATABASE"', 'request_analytics');
    expect(script).toBe(command.at(-1)!.replaceAll('$$', '$'));
  });

  it('lets Prometheus find the metrics of each deployment', () => {
    if (obstacle !== undefined) return;
    const { selector, endpoints } = all('ServiceMonitor')[0]!.spec as unknown as {
      selector: { matchLabels: Labels };
      endpoints: { port: string }[];
    };
    const services = all('Service') as unknown as {
      metadata: { labels: Labels };
      spec: { selector: Labels; ports: { name: string; targetPort: string }[] };
    }[];
    const deployments = listPods().filter(({ spec }) => spec.containers[0]!.ports);
    expect(deployments).toHaveLength(2);
    for (const { name, metadata, spec } of deployments) {
      const service = services.find((service) =>
        selects(metadata.labels, { matchLabels: service.spec.selector }),
      )!;
      expect([name, selects(service.metadata.labels, selector)]).toEqual([name, true]);
      const port = service.spec.ports.find((port) => port.name === endpoints[0]!.port);
      expect(spec.containers[0]!.ports!.map((candidate) => candidate.name)).toContain(port!.targetPort);
    }
  });

  it('lets nothing reach a pod, nor a pod anything, but what a policy names', () => {
    if (obstacle !== undefined) return;
    const pods = listPods();
    expect(pods).toHaveLength(4);
    for (const { metadata, spec } of pods) {
      const policies = all('NetworkPolicy').filter((policy) =>
        selects(metadata.labels, policy.spec!.podSelector as { matchLabels: Labels }),
      );
      expect(policies.map((policy) => policy.spec!.policyTypes)).toEqual([['Ingress', 'Egress']]);
      const rules = (policies[0]!.spec!.ingress ?? []) as { from: object[]; ports: { port: string }[] }[];
      const ports = spec.containers.flatMap((container) => (container.ports ?? []).map(({ name }) => name));
      expect(rules.flatMap((rule) => rule.ports.map(({ port }) => port)).sort()).toEqual(ports.sort());
      for (const { from } of rules) expect(from).not.toEqual([]);
    }
  });

  it('serves with TLS, by services that are there', () => {
    if (obstacle !== undefined) return;
    const ingresses = all('Ingress').map(({ spec }) => spec as unknown as Ingress);
    expect(ingresses).toHaveLength(2);
    for (const { tls, rules } of ingresses) {
      const secured = tls.flatMap(({ hosts }) => hosts);
      for (const { host, http } of rules) {
        expect(secured).toContain(host);
        for (const { backend } of http.paths) {
          const service = all('Service').find(({ metadata }) => metadata.name === backend.service.name);
          const ports = (service?.spec?.ports ?? []) as { name: string }[];
          expect(ports.map(({ name }) => name)).toContain(backend.service.port.name);
        }
      }
      expect(readFileSync('docs/helm/values.yaml', 'utf8')).toContain(
        `create secret tls ${tls[0]!.secretName} `,
      );
    }
  });

  it('installs policies first, then accounts, then the schema, then the deployments; either can be left out', () => {
    if (obstacle !== undefined) return;
    const weights = render(URL, ...ALL).flatMap(({ kind, metadata: { name, annotations } }) => {
      const weight = annotations?.['helm.sh/hook-weight'];
      return weight === undefined ? [] : [[kind, name, Number(weight)]];
    });
    expect(weights).toEqual([
      ['NetworkPolicy', 'request-analytics-accounts', -20],
      ['NetworkPolicy', 'request-analytics-migrate', -20],
      ['Job', 'request-analytics-accounts', -10],
      ['Job', 'request-analytics-migrate', -5],
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
