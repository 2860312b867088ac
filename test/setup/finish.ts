import type { Steps } from '../../src/shared/async/slices.js';

/** Does work in steps without a pause. */
export function finish<T>(steps: Steps<T>): T {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}
