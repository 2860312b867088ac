import type { RequestRecord } from '../../records/request-record.js';
import type { Entity } from './endpoints.js';
import type { PathParameters } from './urls.js';

/** A request of the sample without its captured data, which is generated only if needed. */
export interface DemoRequest extends Omit<RequestRecord, 'captured_json'> {
  response_time_ms: number;
  userAgent: string;
  parameters: PathParameters;
  /** The topic of its bodies; null without bodies. */
  entity: Entity | null;
  isList: boolean;
}
