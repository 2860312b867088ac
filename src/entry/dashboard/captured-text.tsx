import type { ComponentChildren } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { formatNumber } from './format.js';
import { formatJson } from './json.js';
import { CopyButton, Text } from './parts.js';

/** A button shows the rest. */
const CUT = 1000;
const CUT_CODE = 10_000;
/** Longer texts are shown unformatted. */
const MAX_FORMATTED = 200_000;

export function Masked() {
  return (
    <span
      class="masked"
      title="The client library masked this value before it was sent, or this service before it was stored."
    >
      masked
    </span>
  );
}

export function LongText({ text }: { text: string }) {
  const [isWhole, setIsWhole] = useState(false);
  return (
    <>
      <Text max={isWhole ? Infinity : CUT}>{text}</Text>
      {!isWhole && text.length > CUT && (
        <ShowAll count={text.length} of=" characters" press={() => setIsWhole(true)} />
      )}
    </>
  );
}

export function ShowAll({ count, of = '', press }: { count: number; of?: string; press: () => void }) {
  return (
    <button type="button" class="small" onClick={press}>
      {`Show all ${formatNumber(count)}${of}`}
    </button>
  );
}

/** A text with its lines; JSON is formatted and coloured. */
export function Code({ text, name, isJson = false }: { text: string; name: string; isJson?: boolean }) {
  const [isWhole, setIsWhole] = useState(false);
  const tokens = useMemo(
    () => (isJson && text.length <= MAX_FORMATTED ? formatJson(text) : null),
    [text, isJson],
  );
  let room = isWhole ? Infinity : CUT_CODE;
  const shown = tokens?.filter((token) => (room -= token.text.length) > -token.text.length);
  const isCut = !isWhole && (tokens ? room < 0 : text.length > CUT_CODE);
  return (
    <div class="code">
      <pre tabIndex={0} role="region" aria-label={name}>
        {shown ? (
          shown.map(({ kind, text: part }, index) =>
            kind === 'plain' ? (
              part
            ) : kind === 'masked' ? (
              <Masked key={index} />
            ) : (
              <span key={index} class={kind}>
                <Text max={isWhole ? Infinity : CUT_CODE}>{part}</Text>
              </span>
            ),
          )
        ) : (
          <Text max={isWhole ? Infinity : CUT_CODE}>{text}</Text>
        )}
      </pre>
      <div class="buttons">
        {isCut && <ShowAll count={text.length} of=" characters" press={() => setIsWhole(true)} />}
        <CopyButton text={text} label="Copy" />
      </div>
    </div>
  );
}

/** Names with their values, such as headers. */
export function Pairs({ pairs }: { pairs: readonly (readonly [name: string, value: ComponentChildren])[] }) {
  return (
    <table class="headers">
      <tbody>
        {pairs.map(([name, value], index) => (
          <tr key={index}>
            <th scope="row">
              <Text>{name}</Text>
            </th>
            <td>{value}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
