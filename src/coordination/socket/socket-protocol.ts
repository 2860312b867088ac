import { join, relative, resolve } from 'node:path';
import type { WriterCoordinator } from '../writer-coordinator.js';

const FILE = 'store.sock';
/** Bytes of the address of a Unix socket, without the final zero (104 on macOS, 108 on Linux). */
const MAX_PATH_BYTES = 103;

/** The first line of a session, as JSON. */
export interface SocketGreeting {
  version: string;
  /** ID of the session. */
  session: string;
}

/** An error of the engine, or of the coordinator, as the socket sends it. */
export interface SocketError {
  message: string;
  code?: string | undefined;
  type?: string | undefined;
}

type CoordinatorMethod = Exclude<keyof WriterCoordinator, 'close'>;

/** A call of the coordinator. */
export type CoordinatorCall = {
  [Method in CoordinatorMethod]: { method: Method; args: Parameters<WriterCoordinator[Method]> };
}[CoordinatorMethod];

/**
 * The socket of a data directory, by its absolute or its relative path, whichever is shorter. Undefined if
 * both are too long for the operating system.
 */
export function findSocketPath(dataDir: string): string | undefined {
  const path = join(resolve(dataDir), FILE);
  const paths = [path, `./${relative('', path)}`];
  return paths.find((candidate) => Buffer.byteLength(candidate) <= MAX_PATH_BYTES);
}
