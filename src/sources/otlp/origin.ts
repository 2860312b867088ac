import { hashUuid } from '../../shared/hash-uuid.js';
import { InvalidRecordError } from '../../records/decoding/decoders.js';
import { envDecoder } from '../decoding/request-decoders.js';
import { parseUuid } from '../../platform/input/uuid.js';
import type { Message } from '../../write/batches/message.js';
import { createEnvName, createMessage, createReport } from '../intake/create-message.js';
import { MAX_VERSION } from '../decoding/startup.js';
import { truncate } from '../../records/text.js';
import type { Steps } from '../../shared/async/slices.js';
import { Attributes } from './attributes.js';
import { RecordHashes } from './record-hashes.js';
import type { Resource } from './generated/opentelemetry/proto/resource/v1/resource_pb.js';
import type { Part, Parts } from './items.js';

const DEFAULT_ENV = 'default';
const MAX_ENV = 32;
/**
 * Largest number of environments and instances in a body: each is a message, which is stored and acknowledged
 * by itself.
 */
const MAX_MESSAGES = 10_000;

/** Context of parsing a body. */
export interface BodyContext {
  /** Hash of the signal and the body: a repeated body has the same digest. */
  digest: string;
  /** The environment in the header, which overrides that of resources. */
  env: string | undefined;
  /** Milliseconds since the Unix epoch. */
  now: number;
  /** GraphQL operations are told apart. */
  graphql: boolean;
  /** Largest number of requests that a span counts as. */
  maxSpanWeight: number;
  /**
   * Characters that the body may still add to its own length, by packed texts and by texts that several
   * records repeat. If packed texts leave fewer than `minimum`, `ExpandedBodyError` is thrown.
   */
  expansion: { remaining: number; readonly minimum?: number };
}

/** A small body whose packed texts make it large. */
export class ExpandedBodyError extends Error {
  override readonly name = 'ExpandedBodyError';
}

/** The messages of a body: one for each environment and instance. */
class OriginMessages {
  readonly hashes = new RecordHashes();
  private readonly messages = new Map<string, Message>();

  constructor(private readonly context: BodyContext) {}

  /**
   * The message of a resource's environment and instance.
   *
   * @throws InvalidRecordError if there are too many of them
   */
  find(resource: Resource | undefined): Message {
    const attributes = new Attributes(resource?.attributes ?? []);
    const env = this.context.env ?? findEnv(attributes);
    const instance = findInstance(attributes, env);
    const key = `${env}/${instance}`;
    let message = this.messages.get(key);
    if (!message) {
      if (this.messages.size === MAX_MESSAGES)
        throw new InvalidRecordError(`body: must have at most ${MAX_MESSAGES} instances`);
      const { digest, now } = this.context;
      message = {
        ...createMessage(hashUuid(`${digest}\n${key}`), env),
        instanceUuid: instance,
        reportsErrors: isClientLibrary(attributes),
        names: [createEnvName(env, now)],
        report: createReport(now),
        syncedAt: now,
      };
      this.messages.set(key, message);
    }
    if (message.report)
      message.report.app_version ||= truncate(attributes.findText('service.version') ?? '', MAX_VERSION);
    return message;
  }

  list(): Message[] {
    return [...this.messages.values()];
  }
}

/**
 * The messages of a body.
 *
 * @param visit called with each resource, scope and item, and the message of its resource
 */
export function* readMessages<Item>(
  parts: Parts<Item>,
  context: BodyContext,
  visit: (message: Message, part: Exclude<Part<Item>, { kind: 'fault' }>, hashes: RecordHashes) => void,
): Steps<Message[]> {
  const messages = new OriginMessages(context);
  let message: Message | undefined;
  for (const part of parts) {
    if (part?.kind === 'resource') message = messages.find(part.resource);
    if (part && message) {
      if (part.kind === 'fault') message.rejected.add(part.fault);
      else visit(message, part, messages.hashes);
    }
    yield;
  }
  return messages.list();
}

/** The name of an environment; invalid characters become hyphens. Undefined if it is empty. */
export function toEnv(text: string | undefined): string | undefined {
  const slug = (text ?? '')
    .trim()
    .replaceAll(/[^\w-]+/g, '-')
    .slice(0, MAX_ENV);
  return envDecoder.decode(slug);
}

function findEnv(attributes: Attributes): string {
  return (
    toEnv(attributes.findText('deployment.environment.name')) ??
    toEnv(attributes.findText('deployment.environment')) ??
    DEFAULT_ENV
  );
}

/** Whether version 1 of the client libraries sends it. */
function isClientLibrary(attributes: Attributes): boolean {
  return (attributes.findText('telemetry.distro.name') ?? '').startsWith('apitally');
}

/**
 * The UUID of the sending process: its instance ID, or a hash of the attributes that identify it in its
 * environment. Processes of two environments often have the same name, or no name and the same attributes.
 */
function findInstance(attributes: Attributes, env: string): string {
  const language = attributes.findText('telemetry.sdk.language');
  const isPhp = language === 'php';
  // The SDK for PHP makes a new ID for each request: each would be a new instance, and all would be kept.
  const id = isPhp ? (attributes.findText('host.name') ?? '') : attributes.findText('service.instance.id');
  const uuid = parseUuid(isPhp ? '' : (id ?? ''));
  if (typeof uuid === 'string') return uuid;
  const service = ['service.namespace', 'service.name'].map((key) => attributes.findText(key) ?? '');
  // Micrometer may send the metrics of a process whose spans OpenTelemetry's SDK sends.
  const sdk = language === 'java' ? ['telemetry.sdk.name', 'telemetry.sdk.version'] : [];
  const identity = id === undefined ? attributes.toKey(sdk) : JSON.stringify([...service, id]);
  // Left out if it equals the environment of the attributes, or the default: stored instances were hashed
  // without it.
  const implied = id === undefined ? findEnv(attributes) : DEFAULT_ENV;
  return hashUuid(env === implied ? identity : `${identity}\n${env}`);
}
