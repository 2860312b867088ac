import cliProgress, { Presets, SingleBar } from 'cli-progress';
import { printMessage } from './output.js';

const LINE_EVERY_MS = 5_000;
const SAMPLE_EVERY_MS = 250;
/** The time left is estimated from the last 20 seconds: between two bursts of reading a batch is written. */
const SAMPLES = 80;

/**
 * Progress of an import, an export, a backup or a restore on standard error: a bar on a terminal, otherwise a
 * line at intervals.
 */
export class Progress {
  private readonly bar?: SingleBar;
  private readonly sampling?: NodeJS.Timeout;
  private reached = 0;
  private count = 0;
  private lastPrintedAt = Date.now();
  /** Total of the earlier files. */
  private before = 0;

  /**
   * @param total size of the input, in the unit of `update`; null if unknown
   * @param done participle of the printed lines
   * @param unit of the printed count
   */
  constructor(
    private readonly total: number | null,
    private readonly done = 'read',
    private readonly unit = 'lines',
  ) {
    if (total === null || !process.stderr.isTTY) return;
    this.bar = new SingleBar(
      {
        stream: process.stderr,
        format: `{bar} {percentage}% | {count} ${unit} | {eta_formatted} left`,
        hideCursor: true,
        etaBuffer: SAMPLES,
        // It is a text as long as there is no rate.
        formatTime: (seconds, options) =>
          typeof seconds === 'number' ? cliProgress.Format.TimeFormat(roundLeft(seconds), options, 1) : '?',
      },
      Presets.shades_classic,
    );
    this.bar.start(total, 0, { count: 0 });
    this.sampling = setInterval(() => {
      this.draw();
    }, SAMPLE_EVERY_MS);
  }

  /** @param position in the file, in the unit of the total */
  update(position: number, count: number): void {
    this.reached = this.before + position;
    this.count = count;
    if (this.bar || Date.now() - this.lastPrintedAt < LINE_EVERY_MS) return;
    this.lastPrintedAt = Date.now();
    const share = this.total ? ` (${Math.floor((100 * this.reached) / this.total)}%)` : '';
    printMessage(`${count} ${this.unit} ${this.done}${share}`);
  }

  /** Begins the progress of the next file. */
  endFile(position: number): void {
    this.before += position;
  }

  stop(): void {
    clearInterval(this.sampling);
    this.draw();
    this.bar?.stop();
  }

  private draw(): void {
    this.bar?.update(this.reached, { count: this.count });
  }
}

/** Rounds before the division into units: the library rounds behind it, and shows `1m60s`. */
function roundLeft(seconds: number): number {
  const step = seconds > 3_600 ? 60 : 5;
  return step * Math.round(seconds / step);
}
