import { defineConfig } from 'vite';

/**
 * The page in `dist/dashboard`. Its addresses are relative, because it may be served below a path. It has no
 * `data:` URLs, because of its CSP.
 */
export default defineConfig({
  base: './',
  build: {
    outDir: '../../../dist/dashboard',
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: false,
    target: 'es2023',
    cssTarget: ['chrome123', 'firefox128', 'safari18'],
    license: { fileName: 'licences.md' },
    reportCompressedSize: false,
  },
});
