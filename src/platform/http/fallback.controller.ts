import { All, Controller, Req } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { ApiExcludeController } from '@nestjs/swagger';
import type { Application, Request } from 'express';
import { Public } from './public.decorator.js';
import { methodNotAllowed, notFound } from './api-error.js';

/** The used members of a layer of Express's router. */
interface RouteLayer {
  route?: { methods: Record<string, boolean> };
  match(path: string): boolean;
}

/**
 * Catch-all routes. The framework responds to unmatched paths before any guard, but under `/v1` the key is
 * checked first and the request counts (docs/contract.md#order), so these paths need routes.
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
    const allowed = this.findMethods(path);
    return allowed.length > 0 ? methodNotAllowed(allowed.join(', ')) : notFound();
  }

  /** The methods for which other routes serve the path. This controller's own routes serve every method. */
  private findMethods(path: string): string[] {
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
