import { All, Controller, Req } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { ApiExcludeController } from '@nestjs/swagger';
import type { Application, Request } from 'express';
import { Public } from '../common/public.decorator.js';
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
    throw this.toError(request);
  }

  @Public()
  @All('{*path}')
  open(@Req() request: Request): never {
    throw this.toError(request);
  }

  private toError({ path }: Request) {
    const allowed = this.methodsOf(path);
    return allowed.length > 0 ? methodNotAllowed(allowed.join(', ')) : notFound();
  }

  /** The methods by which other routes serve the path; this controller's own serve every method. */
  private methodsOf(path: string): string[] {
    const { router } = this.host.httpAdapter.getInstance<Application>();
    const layers = (router.stack as unknown as RouteLayer[]).filter(
      (layer) => layer.route && !isForAll(layer.route) && layer.match(path),
    );
    const served = new Set(layers.flatMap(({ route }) => Object.keys(route?.methods ?? {})));
    return [...(served.has('get') ? ['GET', 'HEAD'] : []), ...(served.has('post') ? ['POST'] : [])];
  }
}

function isForAll({ methods }: NonNullable<RouteLayer['route']>): boolean {
  return methods.get === true && methods.post === true;
}
