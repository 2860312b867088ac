import { All, Controller, Req } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { ApiExcludeController } from '@nestjs/swagger';
import type { Application, Request } from 'express';
import { Public } from '../../auth/public.decorator.js';
import { methodNotAllowed, notFound } from './api-error.js';

/** A layer of Express's router, as far as it matters here. */
interface RouteLayer {
  route?: { methods: Record<string, boolean> };
  match(path: string): boolean;
}

/**
 * What no other route took. The framework answers unmatched paths before any guard, yet under `/v1` the key is judged
 * first and a valid one counts (docs/contract.md#order): so those are routes as well.
 */
@ApiExcludeController()
@Controller()
export class FallbackController {
  constructor(private readonly host: HttpAdapterHost) {}

  @All(['/v1', '/v1/{*path}'])
  guarded(@Req() request: Request): never {
    throw this.answer(request);
  }

  @Public()
  @All('{*path}')
  open(@Req() request: Request): never {
    throw this.answer(request);
  }

  private answer({ method, path }: Request) {
    const read = method === 'GET' || method === 'HEAD';
    return !read && this.isServed(path, method.toLowerCase()) ? methodNotAllowed() : notFound();
  }

  /** Whether a route serves the path, if not by this method; this controller's own serve every method. */
  private isServed(path: string, method: string): boolean {
    const { router } = this.host.httpAdapter.getInstance<Application>();
    const layers = router.stack as unknown as RouteLayer[];
    return layers.some(
      (layer) => layer.route?.methods.get && !layer.route.methods[method] && layer.match(path),
    );
  }
}
