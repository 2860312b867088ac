import type { NextFunction, Request, Response } from 'express';
import type { RefusedSenders } from '../../access/tokens/refused-senders.js';
import type { Config } from '../../config/config.js';
import { ApiError } from '../../platform/http/api-error.js';

/** The paths to which applications send, each with its route if that is not the path. */
const PATHS_OF_COLLECTOR: readonly [form: RegExp, route?: string][] = [
  [/^\/v1\/(?:traces|metrics|logs|requests)$/],
  [/^\/v2\/[^/]+\/[^/]+\/(?:startup|sync|log)$/, '/v2/:client_id/:env'],
];
const PATHS_OF_API = /^\/(?:|docs\/?|openapi\.json|llms\.txt|mcp|v1\/(?:team|apps(?:\/.*)?))$/;

/**
 * Tells senders that this is not the port of the collector. SDKs show the text of a response in their own
 * log, and there the 401 for a missing API key would mislead.
 */
export function refuseSenders({ publicPath, collector }: Config, refused: RefusedSenders) {
  const detail = `This port serves the API and takes no data. Send to the collector: port ${collector.port} (COLLECTOR_PORT)`;
  return (request: Request, _: Response, next: NextFunction) => {
    const { method, path, ip } = request;
    const below = path.startsWith(`${publicPath}/`) ? path.slice(publicPath.length) : path;
    // The collector takes a slash too many as well.
    const ownPath = below.replaceAll(/\/{2,}/g, '/').replace(/\/$/, '');
    const found = method === 'POST' && PATHS_OF_COLLECTOR.find(([form]) => form.test(ownPath));
    if (found) refused.report({ ip, route: { path: found[1] ?? ownPath } }, 'wrong_port');
    next(found ? new ApiError(404, detail) : undefined);
  };
}

/** Tells clients of the API, and people who open the port in a browser, that this is the collector. */
export function refuseReaders({ port }: Config) {
  const detail = `This port is the collector's, to which applications send. The API and the dashboard: port ${port} (PORT)`;
  return ({ path }: Request, _: Response, next: NextFunction) => {
    next(PATHS_OF_API.test(path) ? new ApiError(404, detail) : undefined);
  };
}
