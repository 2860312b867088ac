import { SetMetadata } from '@nestjs/common';

export const PUBLIC = 'request-analytics:public';

/** A route that is served without a key. Everything else needs one; a test lists what carries this mark. */
export const Public = () => SetMetadata(PUBLIC, true);
