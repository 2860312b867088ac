import { sizeThreadPool } from './bootstrap/thread-pool.cjs';

sizeThreadPool();
void import('./bootstrap/run.js').then(({ runServer }) => runServer());
