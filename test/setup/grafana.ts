import { readFileSync } from 'node:fs';

interface InfinityQuery {
  url: string;
  type: 'csv' | 'json';
  root_selector: string;
  url_options: { method: string; data?: string; body_content_type?: string };
  columns: { selector: string; text: string; type: string }[];
}

interface Target extends Partial<InfinityQuery> {
  refId: string;
  /** Of Prometheus. */
  expr?: string;
}

interface Variable {
  name: string;
  definition?: string;
  regex?: string;
  allValue?: string;
  query: string | { infinityQuery?: InfinityQuery };
}

/** The members of a dashboard in docs/grafana that tests read. */
export interface Dashboard {
  panels: { title: string; targets: Target[] }[];
  templating: { list: Variable[] };
}

export function readDashboard(name: 'prometheus' | 'infinity'): Dashboard {
  return JSON.parse(readFileSync(`docs/grafana/${name}.json`, 'utf8')) as Dashboard;
}
