import { SetMetadata } from '@nestjs/common';

export const PUBLIC = 'request-analytics:public';

/** A route without a key. All other routes need a key; a test lists the public routes. */
export const Public = () => SetMetadata(PUBLIC, true);
