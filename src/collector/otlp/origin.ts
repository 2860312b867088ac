import { hashUuid } from '../../common/hash-uuid.js';
import { envDecoder } from '../../ingestion/formats/request-decoders.js';
import { parseUuid } from '../../validation/uuid.js';
import type { Message } from '../message.js';
import { createMessage } from '../protocol/json-message.js';
import { createEnvName } from '../protocol/startup.parser.js';
import { Attributes } from './attributes.js';
import type { Resource } from './generated/opentelemetry/proto/resource/v1/resource_pb.js';

const DEFAULT_ENV = 'default';
const MAX_ENV = 32;

/** What the readers of a body know beside it. */
export interface BodyContext {
  /** The hash of the body and its signal: the same body again has the same one. */
  digest: string;
  /** The environment that a header names, which wins over those of resources. */
  env: string | undefined;
  /** Milliseconds since the Unix epoch. */
  now: number;
}

/** The messages that a body consists of: one for each instance of an application and environment. */
export class OriginMessages {
  private readonly messages = new Map<string, Message>();

  constructor(private readonly context: BodyContext) {}

  /** The message that belongs to a resource. */
  find(resource: Resource | undefined): Message {
    const attributes = new Attributes(resource?.attributes ?? []);
    const env = this.context.env ?? envOf(attributes);
    const instance = findInstance(attributes);
    const key = `${env}/${instance}`;
    let message = this.messages.get(key);
    if (!message) {
      const { digest, now } = this.context;
      message = {
        ...createMessage(hashUuid(`${digest}\n${key}`), env),
        instanceUuid: instance,
        names: [createEnvName(env, now)],
        report: { timestamp: now, cpu_percent: null, memory_rss: null, client: '', versions: {} },
        syncedAt: now,
      };
      this.messages.set(key, message);
    }
    return message;
  }

  list(): Message[] {
    return [...this.messages.values()];
  }
}

/** The name of an environment as the store has it: other characters become hyphens. Undefined when nothing is left. */
export function toEnv(text: string | undefined): string | undefined {
  const slug = (text ?? '')
    .trim()
    .replaceAll(/[^\w-]+/g, '-')
    .slice(0, MAX_ENV);
  return envDecoder.decode(slug);
}

function envOf(attributes: Attributes): string {
  return (
    toEnv(attributes.findText('deployment.environment.name')) ??
    toEnv(attributes.findText('deployment.environment')) ??
    DEFAULT_ENV
  );
}

/** The process that sends, as a UUID: its own, or one made of what tells it from others. */
function findInstance(attributes: Attributes): string {
  const id = attributes.findText('service.instance.id');
  if (id === undefined) return hashUuid(attributes.toKey());
  const uuid = parseUuid(id);
  if (typeof uuid === 'string') return uuid;
  const service = ['service.namespace', 'service.name'].map((key) => attributes.findText(key) ?? '');
  return hashUuid(JSON.stringify([...service, id]));
}
