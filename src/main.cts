import { sizeThreadPool } from './entry/bootstrap/thread-pool.cjs';

sizeThreadPool();
void import('./entry/bootstrap/run.js').then(({ runServer }) => runServer());
