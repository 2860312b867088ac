/** Runs tasks while the caller prepares the next one. */
export class BackgroundTasks {
  private readonly running: Promise<void>[] = [];

  /** @param concurrency largest number of tasks that run at once */
  constructor(private readonly concurrency = 1) {}

  /**
   * Starts a task after waiting for a free slot.
   *
   * @throws the first error of an earlier task, once no other task runs; the new task is then not started
   */
  async start(task: () => Promise<void>): Promise<void> {
    if (this.running.length === this.concurrency) await this.endOldest();
    const running = task();
    // The error is thrown where the task is awaited.
    running.catch(() => undefined);
    this.running.push(running);
  }

  /**
   * Waits for all tasks.
   *
   * @throws the first error, once
   */
  async end(): Promise<void> {
    while (this.running.length > 0) await this.endOldest();
  }

  private async endOldest(): Promise<void> {
    try {
      await this.running.shift();
    } catch (error) {
      await Promise.allSettled(this.running.splice(0));
      throw error;
    }
  }
}
