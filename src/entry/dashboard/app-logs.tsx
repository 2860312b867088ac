import { useState } from 'preact/hooks';
import type { RequestDetails } from './api.js';
import { LongText, Pairs, ShowAll } from './captured-text.js';
import { formatNumber, formatOffset } from './format.js';
import { Text } from './parts.js';

/** A button shows further lines. */
const MAX_LINES = 200;

/** The log records of the application during the request. */
export function AppLogs({ details, leftOut }: { details: RequestDetails; leftOut: number }) {
  const [isWhole, setIsWhole] = useState(false);
  const { logs, timestamp } = details;
  if (logs.length === 0) return <p class="muted">No application logs were captured.</p>;
  const start = Date.parse(timestamp);
  return (
    <>
      <table class="app-logs">
        <tbody>
          {logs.slice(0, isWhole ? Infinity : MAX_LINES).map((entry, index) => (
            <tr key={index} class={`level-${classifyLevel(entry.level)}`}>
              <td class="number" title={entry.timestamp}>
                {formatOffset(Date.parse(entry.timestamp) - start)}
              </td>
              <td class="level">
                <Text max={12}>{entry.level}</Text>
              </td>
              <td class="entry">
                <LongText text={entry.message} />
                {(entry.logger !== null || entry.file !== null) && (
                  <div class="muted">
                    <Text>
                      {[entry.logger, entry.file && `${entry.file}:${entry.line ?? '?'}`]
                        .filter(Boolean)
                        .join(' · ')}
                    </Text>
                  </div>
                )}
                {entry.attributes && Object.keys(entry.attributes).length > 0 && (
                  <Pairs
                    pairs={Object.entries(entry.attributes).map(([name, value]) => [
                      name,
                      <LongText text={typeof value === 'string' ? value : JSON.stringify(value)} />,
                    ])}
                  />
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {!isWhole && logs.length > MAX_LINES && <ShowAll count={logs.length} press={() => setIsWhole(true)} />}
      {leftOut > 0 && <p class="muted">{formatNumber(leftOut)} more log records</p>}
    </>
  );
}

function classifyLevel(level: string): 'error' | 'warning' | 'other' {
  if (/^(error|err|fatal|critical|alert|emerg)/i.test(level)) return 'error';
  return /^warn/i.test(level) ? 'warning' : 'other';
}
