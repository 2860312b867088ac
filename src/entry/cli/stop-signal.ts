/** The exit codes with which shells report the end of a process by a signal: 128 and the signal's number. */
const EXIT_CODES = { SIGINT: 130, SIGTERM: 143 } as const;
const SIGNALS = Object.keys(EXIT_CODES) as (keyof typeof EXIT_CODES)[];

/** A signal stopped a command. The command can be repeated. */
export class StoppedError extends Error {
  override readonly name = 'StoppedError';

  constructor(
    message: string,
    readonly exitCode: number,
  ) {
    super(message);
  }
}

/** Listens to the first SIGINT or SIGTERM. A second one ends the process, as it does without a listener. */
export class StopSignal {
  private readonly controller = new AbortController();
  private received: keyof typeof EXIT_CODES = 'SIGTERM';

  constructor() {
    for (const signal of SIGNALS) process.once(signal, this.stop);
  }

  /** Aborts at the signal. */
  get signal(): AbortSignal {
    return this.controller.signal;
  }

  /**
   * Calls a function at the signal, or at once if the signal has come; an earlier function is no longer
   * called.
   */
  onStop(call: () => void): void {
    this.signal.onabort = call;
    if (this.signal.aborted) call();
  }

  /** @param where at which point the command stopped, as text */
  createError(where: string): StoppedError {
    return new StoppedError(`stopped by ${this.received} ${where}`, EXIT_CODES[this.received]);
  }

  close(): void {
    for (const signal of SIGNALS) process.off(signal, this.stop);
  }

  private readonly stop = (signal: NodeJS.Signals) => {
    this.close();
    if (signal === 'SIGINT') this.received = signal;
    this.controller.abort();
  };
}
