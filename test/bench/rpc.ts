import { type ChildProcess, fork } from 'node:child_process';
import { openSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** What a child offers to its parent, by name. */
// Handlers differ in their arguments, which only a mapped type of the whole can say.
export type Handlers = Record<string, (...args: never[]) => unknown>;

interface Call {
  id: number;
  name: string;
  args: never[];
}
interface Reply {
  id: number;
  result?: unknown;
  error?: string;
}

/** In a child: answers the parent's calls, and says that it is ready for them. */
export function serve(handlers: Handlers): void {
  process.on('message', (call: Call) => {
    void answer(handlers, call).then((reply) => process.send?.(reply));
  });
  process.send?.({ id: 0 } satisfies Reply);
}

async function answer(handlers: Handlers, { id, name, args }: Call): Promise<Reply> {
  try {
    return { id, result: await handlers[name]?.(...args) };
  } catch (error) {
    return { id, error: error instanceof Error ? (error.stack ?? error.message) : String(error) };
  }
}

/** A process of the benchmark's own, and its handlers as they look from here. */
export class Child<H extends Handlers> {
  private readonly waiting = new Map<number, { ok: (value: never) => void; no: (why: Error) => void }>();
  private lastId = 0;

  private constructor(private readonly process: ChildProcess) {
    process.on('message', ({ id, result, error }: Reply) => {
      const call = this.waiting.get(id);
      this.waiting.delete(id);
      if (error === undefined) call?.ok(result as never);
      else call?.no(new Error(error));
    });
    process.on('exit', (code, signal) => {
      for (const { no } of this.waiting.values())
        no(new Error(`A process of the benchmark ended (${code ?? signal})`));
      this.waiting.clear();
    });
  }

  /** Starts a module beside this one; resolves once it is ready. Its output goes to the file. */
  static async start<H extends Handlers>(
    module: string,
    { env = {}, log, args = [] }: { env?: NodeJS.ProcessEnv; log: string; args?: string[] },
  ): Promise<Child<H>> {
    const output = openSync(log, 'a');
    const child = new Child<H>(
      fork(fileURLToPath(new URL(module, import.meta.url)), args, {
        env: { ...process.env, ...env },
        stdio: ['ignore', output, output, 'ipc'],
      }),
    );
    await child.wait(0).catch((error: unknown) => {
      throw new Error(`${module} did not start; see ${log}`, { cause: error });
    });
    return child;
  }

  get pid(): number {
    return this.process.pid ?? 0;
  }

  async call<N extends keyof H & string>(
    name: N,
    ...args: Parameters<H[N]>
  ): Promise<Awaited<ReturnType<H[N]>>> {
    const id = ++this.lastId;
    const result = this.wait(id);
    this.process.send({ id, name, args });
    return (await result) as Awaited<ReturnType<H[N]>>;
  }

  /** Asks the child to end by itself, which closes its store; resolves once it is gone. */
  async stop(): Promise<void> {
    if (this.process.exitCode !== null || this.process.signalCode !== null) return;
    const gone = new Promise((ok) => this.process.once('exit', ok));
    this.process.disconnect();
    await gone;
  }

  private wait(id: number): Promise<unknown> {
    return new Promise((ok, no) => this.waiting.set(id, { ok, no }));
  }
}
