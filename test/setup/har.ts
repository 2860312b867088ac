import formats from 'ajv-formats';
import { Ajv2020 } from 'ajv/dist/2020.js';

const TEXT = { type: 'string' };
const SIZE = { type: 'integer', minimum: -1 };
const TIME = { type: 'number', minimum: 0 };

/** An object with these members, all required but the optional ones; others begin with an underscore. */
const object = (required: object, optional: object = {}) => ({
  type: 'object',
  required: Object.keys(required),
  properties: { ...required, ...optional },
  patternProperties: { '^_': {} },
  additionalProperties: false,
});
const list = (items: object) => ({ type: 'array', items });

const PAIRS = list(object({ name: TEXT, value: TEXT }));
const MESSAGE = { httpVersion: TEXT, cookies: PAIRS, headers: PAIRS, headersSize: SIZE, bodySize: SIZE };

/** HAR 1.2 (http://www.softwareishard.com/blog/har-12-spec/), as far as an archive without pages uses it. */
const validate = formats.default(new Ajv2020({ allErrors: true })).compile(
  object({
    log: object({
      version: { const: '1.2' },
      creator: object({ name: TEXT, version: TEXT }),
      entries: list(
        object({
          startedDateTime: { type: 'string', format: 'date-time' },
          time: TIME,
          request: object(
            { ...MESSAGE, method: TEXT, url: TEXT, queryString: PAIRS },
            { postData: object({ mimeType: TEXT, text: TEXT }) },
          ),
          response: object({
            ...MESSAGE,
            status: { type: 'integer' },
            statusText: TEXT,
            content: object({ size: SIZE, mimeType: TEXT }, { text: TEXT }),
            redirectURL: TEXT,
          }),
          cache: object({}),
          timings: object({ send: TIME, wait: TIME, receive: TIME }),
        }),
      ),
    }),
  }),
);

interface Message {
  cookies: { name: string; value: string }[];
  headers: { name: string; value: string }[];
  bodySize: number;
}

export interface HarEntry {
  startedDateTime: string;
  time: number;
  request: Message & {
    method: string;
    url: string;
    queryString: { name: string; value: string }[];
    postData?: { mimeType: string; text: string };
  };
  response: Message & {
    status: number;
    content: { size: number; mimeType: string; text?: string };
    redirectURL: string;
  };
  _request_uuid: string;
  _consumer: string | null;
  _trace_id: string | null;
}

/** @throws Error that names what HAR 1.2 does not allow */
export function readHar(text: string): HarEntry[] {
  const archive = JSON.parse(text) as { log: { entries: HarEntry[] } };
  if (!validate(archive)) throw new Error(JSON.stringify(validate.errors?.slice(0, 3)));
  return archive.log.entries;
}
