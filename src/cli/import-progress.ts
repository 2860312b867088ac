import { Presets, SingleBar } from 'cli-progress';
import { printMessage } from './output.js';

const LINE_EVERY_MS = 5_000;

/** Progress of an import, an export, a backup or a restore on standard error: a bar on a terminal, otherwise a line at intervals. */
export class ImportProgress {
  private readonly bar?: SingleBar;
  private lastPrintedAt = Date.now();
  /** Bytes of the files before. */
  private before = 0;

  /**
   * @param totalBytes size of the source, or of the measure of the progress; null when it is not known.
   * @param done what is said of lines
   * @param unit what is counted, other than lines
   */
  constructor(
    private readonly totalBytes: number | null,
    private readonly done = 'read',
    private readonly unit = 'lines',
  ) {
    if (totalBytes === null || !process.stderr.isTTY) return;
    this.bar = new SingleBar(
      {
        stream: process.stderr,
        format: `{bar} {percentage}% | {lines} ${unit} | {eta_formatted} left`,
        hideCursor: true,
      },
      Presets.shades_classic,
    );
    this.bar.start(totalBytes, 0, { lines: 0 });
  }

  /** @param inFile bytes read of the file, or of the measure of the progress */
  update(inFile: number, lines: number): void {
    const bytesRead = this.before + inFile;
    this.bar?.update(bytesRead, { lines });
    if (this.bar || Date.now() - this.lastPrintedAt < LINE_EVERY_MS) return;
    this.lastPrintedAt = Date.now();
    const share = this.totalBytes ? ` (${Math.floor((100 * bytesRead) / this.totalBytes)}%)` : '';
    printMessage(`${lines} ${this.unit} ${this.done}${share}`);
  }

  /** What follows is progress of another file. */
  endFile(bytesRead: number): void {
    this.before += bytesRead;
  }

  stop(): void {
    this.bar?.stop();
  }
}
