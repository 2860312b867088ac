#!/usr/bin/env node
import { sizeThreadPool } from './entry/bootstrap/thread-pool.cjs';

sizeThreadPool();
void import('./entry/cli/main.js');
