import { mkdirSync, readFileSync } from 'node:fs';
import { type CommandOptions, type Ran, runCommand } from '../command.js';
import { type Keeper, type Place, type Requests, findProgram, sumFileBytes } from './keeper.js';

/** Reports over an access log; it keeps counts by address, path and so on, and no requests. */
export class GoAccess implements Keeper {
  readonly name = 'GoAccess';
  readonly how = 'command line, --persist --restore; keeps counts alone';
  readonly format = 'combined';
  readonly program = findProgram('GOACCESS', 'goaccess');
  readonly installation = 'apt-get install --no-install-recommends goaccess';

  /** It answers nothing before it ends, when everything is stored: then there is nothing left to kill. */
  take(place: Place, file: string, kill?: CommandOptions['kill']): Promise<Ran> {
    mkdirSync(place.directory, { recursive: true });
    const options = { log: place.log, ...(typeof kill === 'number' && { kill }) };
    return this.run(place, [file, '--persist'], options);
  }

  async count(place: Place): Promise<Requests> {
    mkdirSync(place.directory, { recursive: true });
    await this.run(place, [], { log: place.log });
    const report = JSON.parse(readFileSync(`${place.directory}.json`, 'utf8')) as {
      general: { valid_requests: number };
    };
    return { counted: report.general.valid_requests, kept: undefined };
  }

  merge({ directory }: Place): Promise<number> {
    return Promise.resolve(sumFileBytes(directory));
  }

  private run({ directory }: Place, args: string[], options: CommandOptions): Promise<Ran> {
    const common = ['--restore', `--db-path=${directory}`, '--log-format=COMBINED', '--no-progress'];
    return runCommand(this.program ?? '', [...args, ...common, '-o', `${directory}.json`], options);
  }
}
