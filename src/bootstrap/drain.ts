import type { NextFunction, Request, Response } from 'express';
import { serviceUnavailable } from '../http/api-error.js';

const READY = '/health/ready';

/**
 * A graceful stop. Once it has begun the instance is no longer ready, so that whoever spreads requests over instances
 * sends no more of them here. Those that still come are served, and each of their connections is told to close, so that the
 * listener does not wait for kept-alive ones.
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
