const WIDTH = 110;

/** Prettier wraps code alone. */
const width = {
  create: ({ sourceCode, report }) => ({
    Program() {
      for (const { loc } of sourceCode.getAllComments()) {
        const [first = '', ...rest] = sourceCode.lines.slice(loc.start.line - 1, loc.end.line);
        const isAlone = /^\s*\{?\s*$/.test(first.slice(0, loc.start.column));
        for (const [index, line] of [isAlone ? first : '', ...rest].entries()) {
          if (line.length <= WIDTH || line.includes('://')) continue;
          report({
            loc: { line: loc.start.line + index, column: WIDTH },
            message: `This comment has more than ${WIDTH} columns.`,
          });
        }
      }
    },
  }),
};

export default { meta: { name: 'comments' }, rules: { width } };
