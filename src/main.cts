import { requireNode } from './entry/bootstrap/require-node.cjs';
import { sizeThreadPool } from './entry/bootstrap/thread-pool.cjs';

requireNode();
sizeThreadPool();
void import('./entry/bootstrap/run.js').then(({ runServer }) => runServer());
