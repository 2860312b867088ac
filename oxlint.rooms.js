import { dirname, join, relative } from 'node:path';

/**
 * The rooms of the product from the ground up, as files and folders: a room imports only rooms before it.
 * docs/architecture.md says what each is for.
 */
export const ROOMS = [
  ['src/shared'],
  ['src/config'],
  ['src/telemetry'],
  ['src/store'],
  ['src/coordination'],
  ['src/platform'],
  ['src/access'],
  ['src/records'],
  ['src/write'],
  ['src/sources'],
  ['src/queries'],
  ['src/api'],
  ['src/mcp'],
  ['src/alerts'],
  ['src/ops'],
  ['src/app.module.ts', 'src/collector.module.ts'],
  ['src/entry'],
  ['src/main.cts', 'src/cli.cts'],
];

const isIn = (path, folder) => path === folder || path.startsWith(`${folder}/`);
const findRoom = (path) => ROOMS.findIndex((room) => room.some((part) => isIn(path, part)));
/** A program of its own, for browsers. */
const isInDashboard = (path) => isIn(path, 'src/entry/dashboard');

/** Why a source may not import a file; undefined if it may. */
function findReason(source, imported) {
  if (isIn(imported, 'test')) return 'The product does not depend on its tests.';
  if (isInDashboard(source) && !isInDashboard(imported))
    return 'The dashboard is a program of its own: it knows the API by its OpenAPI document.';
  if (isInDashboard(imported) && !isInDashboard(source)) return 'The dashboard is a program for browsers.';
  const room = findRoom(source);
  if (findRoom(imported) <= room) return undefined;
  return `It lies above ${ROOMS[room].join(' and ')}: a room imports only rooms below it (docs/architecture.md#rooms).`;
}

/** A rule for oxlint. */
const order = {
  create(context) {
    const check = ({ source }) => {
      if (!source?.value?.startsWith('.')) return;
      const path = join(dirname(context.filename), source.value).replace(/\.(c?)js$/, '.$1ts');
      const [from, to] = [context.filename, path].map((file) => relative(import.meta.dirname, file));
      const message = findReason(from, to);
      if (message) context.report({ node: source, message });
    };
    return {
      ImportDeclaration: check,
      ImportExpression: check,
      TSImportType: check,
      ExportAllDeclaration: check,
      ExportNamedDeclaration: check,
    };
  },
};

export default { meta: { name: 'rooms' }, rules: { order } };
