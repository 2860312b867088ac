import { join } from 'node:path';
import ts from 'typescript';

const { config } = ts.readConfigFile('tsconfig.json', (path) => ts.sys.readFile(path));
const { options } = ts.parseJsonConfigFileContent(config, ts.sys, process.cwd());

/**
 * What the compiler says of sources that are not on disk, by their names: a line each, empty where it
 * compiles. They are compiled as the project is, as if they stood in `directory`.
 */
export function compile<Name extends string>(
  directory: string,
  sources: Readonly<Record<Name, string>>,
): Record<Name, string[]> {
  const names = Object.keys(sources) as Name[];
  const toFile = (index: number) => join(process.cwd(), directory, `virtual-${index}.ts`);
  const texts = new Map(names.map((name, index) => [toFile(index), sources[name]]));
  const program = ts.createProgram([...texts.keys()], { ...options, noEmit: true }, hostWith(texts));
  return Object.fromEntries(
    names.map((name, index) => {
      const file = program.getSourceFile(toFile(index))!;
      const found = [...program.getSyntacticDiagnostics(file), ...program.getSemanticDiagnostics(file)];
      return [name, found.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, ' '))];
    }),
  ) as Record<Name, string[]>;
}

function hostWith(texts: ReadonlyMap<string, string>): ts.CompilerHost {
  const disk = ts.createCompilerHost(options);
  return {
    ...disk,
    fileExists: (path) => texts.has(path) || disk.fileExists(path),
    readFile: (path) => texts.get(path) ?? disk.readFile(path),
    getSourceFile: (path, version) => {
      const text = texts.get(path) ?? disk.readFile(path);
      return text === undefined ? undefined : ts.createSourceFile(path, text, version);
    },
  };
}
