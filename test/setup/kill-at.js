/**
 * Preloaded by `--import`: the process ends itself with SIGKILL before it gives a statement that begins with
 * `KILL_AT` to its own engine, or to the socket of a server.
 */
import { ClientRequest } from 'node:http';
import { ChdbConnection } from 'chdb/connection';

const stopAt = (text) => {
  if (typeof text === 'string' && text.startsWith(process.env.KILL_AT)) process.kill(process.pid, 'SIGKILL');
};

for (const name of ['command', 'exec']) {
  const run = ChdbConnection.prototype[name];
  ChdbConnection.prototype[name] = function (params) {
    stopAt(params.query);
    return run.call(this, params);
  };
}
const { end } = ClientRequest.prototype;
ClientRequest.prototype.end = function (chunk, ...rest) {
  stopAt(chunk);
  return end.call(this, chunk, ...rest);
};
