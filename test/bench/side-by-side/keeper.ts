import { accessSync, constants, readdirSync, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import type { CommandOptions, Ran } from '../command.js';

/** An access log as a server writes it, or its lines parsed. */
export type LogFormat = 'combined' | 'jsonline';

/** Where a program keeps its data, and where it logs. */
export interface Place {
  directory: string;
  log: string;
}

/** Requests that a program has. */
export interface Requests {
  /** In its counts. */
  counted: number;
  /** Each by itself. */
  kept: number | undefined;
}

/** A program that is given the lines of an access log and keeps them, or counts of them. */
export interface Keeper {
  readonly name: string;
  /** How it is given a file. */
  readonly how: string;
  readonly format: LogFormat;
  /** Undefined: it is not installed. */
  readonly program: string | undefined;
  readonly installation?: string;
  /** Makes what it needs before it is given the first file. */
  prepare?(place: Place, file: string): Promise<void>;
  /** Gives it a file; from the start of its process to its end. */
  take(place: Place, file: string, kill?: CommandOptions['kill']): Promise<Ran>;
  count(place: Place): Promise<Requests>;
  /** Merges what it would merge later; the bytes of its data then. */
  merge(place: Place): Promise<number>;
}

/** The program that a variable names, or the one on the PATH; undefined if there is none. */
export function findProgram(variable: string, name: string): string | undefined {
  const given = process.env[variable];
  const paths = (process.env.PATH ?? '').split(delimiter).map((directory) => join(directory, name));
  return [...(given === undefined ? [] : [given]), ...paths].find(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

export function sumFileBytes(directory: string): number {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0);
}
