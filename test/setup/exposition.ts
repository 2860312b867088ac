/** A line of `/metrics` that has a value. */
export interface Sample {
  name: string;
  labels: Record<string, string>;
  value: number;
}

const LABEL = String.raw`[a-zA-Z_]\w*="(?:[^"\\\n]|\\[\\"n])*"`;
const SAMPLE = new RegExp(
  String.raw`^([a-zA-Z_:][\w:]*)(?:\{(${LABEL}(?:,${LABEL})*)\})? ([+-]?(?:\d+(?:\.\d+)?(?:e[+-]?\d+)?|Inf)|NaN)$`,
);

/**
 * The samples of Prometheus' text format 0.0.4, read as strictly as it is specified.
 *
 * @throws when a line is malformed, stands outside of its metric, or is there twice; or a histogram does not
 * add up
 */
export function parseExposition(text: string): Sample[] {
  if (!text.endsWith('\n')) throw new Error('The last line does not end');
  const samples: Sample[] = [];
  const types = new Map<string, string>();
  const seen = new Set<string>();
  let current = '';
  for (const line of text.slice(0, -1).split('\n')) {
    const [, keyword, metric = '', rest = ''] = /^# (HELP|TYPE) (\w+) (.+)$/s.exec(line) ?? [];
    if (keyword === 'HELP') {
      if (types.has(metric)) throw new Error(`${metric} is there twice`);
      current = metric;
    } else if (keyword === 'TYPE') types.set(metric, rest);
    else {
      const sample = parseSample(line);
      const base =
        types.get(current) === 'histogram' ? sample.name.replace(/_(bucket|sum|count)$/, '') : sample.name;
      if (base !== current) throw new Error(`Out of place: ${line}`);
      const identity = line.slice(0, line.lastIndexOf(' '));
      if (seen.has(identity)) throw new Error(`Twice: ${identity}`);
      seen.add(identity);
      samples.push(sample);
    }
  }
  checkHistograms(samples);
  return samples;
}

/**
 * The value of the one sample with that name and, among others, these labels; undefined when there is none.
 */
export function getValue(
  samples: readonly Sample[],
  name: string,
  labels: Record<string, string> = {},
): number | undefined {
  const found = samples.filter(
    (sample) =>
      sample.name === name && Object.entries(labels).every(([key, value]) => sample.labels[key] === value),
  );
  if (found.length > 1) throw new Error(`${found.length} samples of ${name}`);
  return found[0]?.value;
}

function parseSample(line: string): Sample {
  const [, name, labels = '', value] = SAMPLE.exec(line) ?? [];
  if (name === undefined) throw new Error(`Malformed: ${line}`);
  const pairs = [...labels.matchAll(new RegExp(LABEL, 'g'))].map(([pair]) => {
    const at = pair.indexOf('=');
    const unescaped = pair.slice(at + 2, -1).replace(/\\(.)/g, (_, c: string) => (c === 'n' ? '\n' : c));
    return [pair.slice(0, at), unescaped] as const;
  });
  return { name, labels: Object.fromEntries(pairs), value: Number(value?.replace('Inf', 'Infinity')) };
}

/** Buckets never fall, and the last one is the count. */
function checkHistograms(samples: readonly Sample[]) {
  const last = new Map<string, number>();
  const of = ({ labels }: Sample) => JSON.stringify({ ...labels, le: undefined });
  for (const sample of samples) {
    const [, base, part] = /^(.*)_(bucket|count)$/.exec(sample.name) ?? [];
    const before = last.get(`${base}${of(sample)}`) ?? 0;
    if (part === 'bucket') {
      if (sample.value < before) throw new Error(`A bucket of ${base} falls`);
      last.set(`${base}${of(sample)}`, sample.value);
    } else if (part === 'count' && sample.value !== before) throw new Error(`${base} does not add up`);
  }
}
