import { type LookupAddress, lookup } from 'node:dns';
import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { type LookupFunction, isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { createTransport } from 'nodemailer';
import { Webhook } from 'standardwebhooks';
import type { Config } from '../config/config.js';
import type { StoredMessage } from './alert-store.js';
import { writeBody, writeMail } from './messages.js';

const SEND_WITHIN_MS = 10_000;

/** Why a message was not delivered. Its text has neither the address nor a secret. */
export class NotDelivered extends Error {
  override readonly name = 'NotDelivered';
}

/** The part of the configuration that sends messages. */
export type SendConfig = Config['alerts'];

/** Sends a message once. @throws NotDelivered */
export async function send(message: StoredMessage, config: SendConfig): Promise<void> {
  try {
    await (message.channel === 'email' ? sendMail(message, config) : post(message, config));
  } catch (error) {
    throw error instanceof NotDelivered ? error : new NotDelivered(explain(error));
  }
}

async function sendMail(message: StoredMessage, { smtpUrl, mailFrom }: SendConfig): Promise<void> {
  if (smtpUrl === undefined) throw new NotDelivered('ALERT_SMTP_URL is not set');
  const limits = {
    connectionTimeout: SEND_WITHIN_MS,
    greetingTimeout: SEND_WITHIN_MS,
    socketTimeout: SEND_WITHIN_MS,
    disableFileAccess: true,
    disableUrlAccess: true,
  };
  const url = new URL(smtpUrl);
  const transport = createTransport({
    ...limits,
    host: url.hostname,
    secure: url.protocol === 'smtps:',
    ...(url.port !== '' && { port: Number(url.port) }),
    ...(url.username !== '' && {
      auth: { user: decodeURIComponent(url.username), pass: decodeURIComponent(url.password) },
    }),
  });
  try {
    await transport.sendMail({
      from: mailFrom,
      to: message.target,
      // The same for each repeat, so that a mailbox can tell them.
      messageId: `<${message.message_id}@request-analytics>`,
      ...writeMail(message),
    });
  } finally {
    transport.close();
  }
}

/**
 * A POST that does not follow redirects: the receiver of a webhook has one address, as Standard Webhooks
 * says, and a redirect could lead into the network of the service.
 */
async function post(message: StoredMessage, config: SendConfig): Promise<void> {
  const url = new URL(message.target);
  if (url.protocol !== 'http:' && url.protocol !== 'https:') throw new NotDelivered('not a URL of HTTP');
  const host = url.hostname.replace(/^\[|\]$/g, '');
  if (!config.allowsPrivate && isIP(host) !== 0 && !isPublic(host)) throw notPublic();
  const body = writeBody(message, config.dashboardUrl);
  const headers = {
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(body),
    'User-Agent': 'request-analytics',
    ...sign(message, body, config.webhookSecret),
  };
  const options = {
    method: 'POST',
    headers,
    agent: false as const,
    signal: AbortSignal.timeout(SEND_WITHIN_MS),
    ...(!config.allowsPrivate && { lookup: lookupPublic }),
  };
  const status = await new Promise<number>((resolve, reject) => {
    const request = url.protocol === 'https:' ? requestHttps : requestHttp;
    const sent = request(url, options, (response) => {
      // What a receiver says is of no use, and may be endless.
      response.destroy();
      resolve(response.statusCode ?? 0);
    });
    sent.on('error', reject);
    sent.end(body);
  });
  if (status >= 300 && status < 400)
    throw new NotDelivered(`status ${status}: redirects are not followed, name the last address instead`);
  if (status < 200 || status >= 300) throw new NotDelivered(`status ${status}`);
}

/** The headers of Standard Webhooks; without a secret there is no signature. */
function sign({ message_id }: StoredMessage, body: string, secret: string | undefined) {
  const now = new Date();
  return {
    'webhook-id': message_id,
    'webhook-timestamp': String(Math.floor(now.getTime() / 1000)),
    ...(secret !== undefined && { 'webhook-signature': new Webhook(secret).sign(message_id, now, body) }),
  };
}

/**
 * Resolves a name to addresses that are public; one that is not lets the whole name fail. The connection goes
 * to the checked addresses, so that a second resolution cannot give others.
 */
const lookupPublic: LookupFunction = (hostname, options, callback) => {
  lookup(hostname, { ...options, all: true }, (error, found?: LookupAddress[]) => {
    const addresses = found ?? [];
    const [first] = addresses;
    const failure = error ?? (addresses.every(({ address }) => isPublic(address)) ? undefined : notPublic());
    if (failure) callback(failure, '', 0);
    else if (options.all) callback(null, addresses);
    else callback(null, first?.address ?? '', first?.family);
  });
};

/** Whether an address is of the public internet: not private, loopback, link-local, reserved or a tunnel. */
export function isPublic(address: string): boolean {
  return ipaddr.isValid(address) && ipaddr.process(address).range() === 'unicast';
}

const notPublic = () =>
  new NotDelivered('its address is not public; ALERT_ALLOW_PRIVATE=on allows addresses of a private network');

function explain(error: unknown): string {
  if (!(error instanceof Error)) return 'an unknown error';
  if (error.name === 'TimeoutError' || error.name === 'AbortError')
    return `no answer within ${SEND_WITHIN_MS / 1000} s`;
  const { code, responseCode } = error as Error & { code?: string; responseCode?: number };
  return [code ?? error.name, responseCode].filter((part) => part !== undefined).join(' ');
}
