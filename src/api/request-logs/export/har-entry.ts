import { EXPORT_COLUMNS } from './export-columns.js';
import type { ExportField } from './export.input.js';

/*
 * An entry of an HTTP Archive (HAR 1.2), as the text of a JSON object with a comma before it. The engine
 * makes it: in this process the pages of one reader would hold up the others. What nobody captured is as the
 * format says that it is unknown: an empty text or -1.
 */

type Side = 'request' | 'response';

const NAMED = 'Array(Tuple(name String, value String))';
const NO_HEADERS = `CAST([], 'Array(Tuple(String, String))')`;

/** @param fields those of headers and bodies that are shown */
export function toHarEntry(fields: readonly ExportField[]): string {
  const [request, response] = [describeMessage('request', fields), describeMessage('response', fields)];
  const time = 'toString(response_time_ms)';
  const postData = request.text && `',"postData":{"mimeType":', ${request.mimeType}, ${request.text}, '}'`;
  return `concat(${[
    `',{"startedDateTime":', ${json('timestamp')}`,
    `',"_request_uuid":', ${json('request_uuid')}`,
    `',"time":', ${time}`,
    `',"request":{"method":', ${json('method')}, ',"url":', ${json('url')}, ',"httpVersion":"","cookies":'`,
    toPairs(listCookies(request.headers, 'cookie', `splitByChar(';', h.2)`)),
    `',"headers":', ${toPairs(request.headers)}, ',"queryString":', ${toPairs(QUERY)}`,
    ...(postData ? [`if(isNull(${request.body}), '', concat(${postData}))`] : []),
    `',"headersSize":-1,"bodySize":', ${request.size}`,
    `'},"response":{"status":', toString(status_code), ',"statusText":"","httpVersion":"","cookies":'`,
    toPairs(listCookies(response.headers, 'set-cookie', `[splitByChar(';', h.2)[1]]`)),
    `',"headers":', ${toPairs(response.headers)}`,
    `',"content":{"size":', ${response.size}, ',"mimeType":', ${response.mimeType}`,
    ...(response.text ? [`if(isNull(${response.body}), '', concat(${response.text}))`] : []),
    `'},"redirectURL":', toJSONString(${findHeader(response.headers, 'location')})`,
    `',"headersSize":-1,"bodySize":', ${response.size}`,
    `'},"cache":{},"timings":{"send":0,"wait":', ${time}, ',"receive":0},"_consumer":', ${json('consumer')}`,
    `',"_trace_id":', ifNull(toJSONString(${EXPORT_COLUMNS.trace_id.sql}), 'null'), '}'`,
  ].join(',\n  ')})`;
}

/** A column whose JSON text does not depend on captures. */
function json(field: ExportField): string {
  const { json: text = '' } = EXPORT_COLUMNS[field];
  return text;
}

function describeMessage(side: Side, fields: readonly ExportField[]) {
  const headers = fields.includes(`${side}_headers`) ? `capture_members.${side}_headers` : NO_HEADERS;
  const type = findHeader(headers, 'content-type');
  const size = `toString(greatest(${side}_size_bytes, -1))`;
  if (!fields.includes(`${side}_body_json`)) return { headers, size, mimeType: `toJSONString(${type})` };
  const body = `capture_members.${side}_body_json`;
  const captured = `assumeNotNull(${body})`;
  // Many client libraries capture bodies without headers.
  const guessed = `if(${type} = '' AND match(ifNull(${body}, ''), '^[[{]'), 'application/json', ${type})`;
  // A text that is not JSON is stored as a JSON string.
  const sent = `if(startsWith(${captured}, '"') AND position(lower(${type}), 'json') = 0, JSONExtractString(${captured}), ${captured})`;
  return {
    headers,
    size,
    mimeType: `toJSONString(${guessed})`,
    body,
    text: `',"text":', toJSONString(${sent})`,
  };
}

const findHeader = (headers: string, name: string) =>
  `(arrayFirst(h -> lower(h.1) = '${name}', ${headers})).2`;

const toPairs = (list: string) => `toJSONString(CAST(${list}, '${NAMED}'))`;

const NAME = `splitByChar('=', part)[1]`;
const VALUE = `substring(part, length(${NAME}) + 2)`;

/** The parameters of a URL, decoded. */
const QUERY = `arrayMap(part -> (${[NAME, VALUE].map((text) => `toValidUTF8(decodeURLFormComponent(${text}))`).join(', ')}),
    arrayFilter(part -> part != '', splitByChar('&', queryString(cutFragment(JSONExtractString(${json('url')}))))))`;

/** @param parts of the value of a header `h`, each with a name and a value */
function listCookies(headers: string, name: string, parts: string): string {
  return `arrayMap(part -> (trimBoth(${NAME}), ${VALUE}), arrayFilter(part -> position(part, '=') > 0,
    arrayFlatten(arrayMap(h -> ${parts}, arrayFilter(h -> lower(h.1) = '${name}', ${headers})))))`;
}
