import '../typescript.js';

const { default: parse } = await import('../../../src/sources/parsing/parse-thread.ts');
export default parse;
