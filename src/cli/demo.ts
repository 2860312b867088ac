import type { Config } from '../config/config.js';
export function demo(config: Config): Promise<void> {
  return Promise.reject(new Error(String(config.port)));
}
