import type { NextFunction, Request, Response } from 'express';
import { serviceUnavailable } from '../../platform/http/api-error.js';

const READY = '/health/ready';

/**
 * A graceful stop. Once it has begun the instance is no longer ready, so that load balancers stop sending
 * requests. Requests that still arrive are served with `Connection: close`, so that the listener does not
 * wait for keep-alive connections.
 */
export class Drain {
  private draining = false;

  readonly middleware = ({ path }: Request, response: Response, next: NextFunction) => {
    if (this.draining) response.setHeader('Connection', 'close');
    if (!this.draining || path !== READY) {
      next();
      return;
    }
    response.setHeader('Cache-Control', 'no-store');
    next(serviceUnavailable());
  };

  readonly begin = () => {
    this.draining = true;
  };
}
