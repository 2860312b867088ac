#!/usr/bin/env node
import { requireNode } from './entry/bootstrap/require-node.cjs';
import { sizeThreadPool } from './entry/bootstrap/thread-pool.cjs';

requireNode();
sizeThreadPool();
void import('./entry/cli/main.js');
