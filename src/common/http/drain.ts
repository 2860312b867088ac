import type { NextFunction, Request, Response } from 'express';

/**
 * A graceful stop: requests in flight finish, and each of their connections is told to close, so that the listener
 * does not wait for kept-alive ones.
 */
export class Drain {
  private draining = false;

  readonly middleware = (_: Request, response: Response, next: NextFunction) => {
    if (this.draining) response.setHeader('Connection', 'close');
    next();
  };

  begin() {
    this.draining = true;
  }
}
