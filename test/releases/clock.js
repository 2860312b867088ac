/**
 * Preloaded by `NODE_OPTIONS`: the process starts on the day behind the requests of the fixtures. They are
 * that far in the future, so that no retention reaches them.
 */
const ahead = Date.UTC(2099, 4, 16) - Date.now();
const now = Date.now;
Date.now = () => now() + ahead;
globalThis.Date = new Proxy(Date, {
  construct: (target, given, self) =>
    Reflect.construct(target, given.length > 0 ? given : [Date.now()], self),
});
