/** Runs tasks one after another while the caller prepares the next one. */
export class BackgroundTask {
  private running: Promise<void> = Promise.resolve();

  /**
   * Waits for the last task, and starts the next one.
   *
   * @throws the error of the last task, once; the next one is not started then
   */
  async start(task: () => Promise<void>): Promise<void> {
    await this.end();
    this.running = task();
    // The error is thrown where the task is awaited.
    this.running.catch(() => undefined);
  }

  /**
   * Waits for the last task.
   *
   * @throws its error, once
   */
  async end(): Promise<void> {
    const { running } = this;
    this.running = Promise.resolve();
    await running;
  }
}
