/**
 * A change of a table that removes the parts which merges and mutations replaced, once no query uses them.
 * It drops a partition that does not exist, and the engine removes old parts before it answers. Merges of the
 * table that run are cancelled, and begin again later.
 */
export const REMOVE_OLD_PARTS = `DROP PARTITION ID 'none'`;
