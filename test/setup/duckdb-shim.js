// Stands for the program `duckdb -c SQL`, which is not a package of npm.
import { DuckDBInstance } from '@duckdb/node-api';

const instance = await DuckDBInstance.create(':memory:');
const connection = await instance.connect();
const result = await connection.runAndReadAll(process.argv[2]);
console.log(JSON.stringify(result.getRowsJson()));
connection.closeSync();
instance.closeSync();
