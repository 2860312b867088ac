#!/usr/bin/env node
import { sizeThreadPool } from './bootstrap/thread-pool.cjs';

sizeThreadPool();
void import('./cli/main.js');
