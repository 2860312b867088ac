import { SetMetadata } from '@nestjs/common';

export const ACCEPTS_BEARER = 'request-analytics:accepts-bearer';

/**
 * A route that takes the key as `Authorization: Bearer` as well, for clients that cannot send another header.
 */
export const AcceptsBearer = () => SetMetadata(ACCEPTS_BEARER, true);
