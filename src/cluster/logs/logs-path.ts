// The kept log lines over HTTPS: `GET /berth/logs?part=provisioner`, answered as one JSON line each; with `follow=true`
// the answer goes on for as long as the client reads.

import type { PathHandler } from '../../apiserver/index.ts';
import type { KeptLine, LogBook } from './log-book.ts';

export const LOGS_PATH = '/berth/logs';

export function logsPath(book: LogBook): PathHandler {
  return async ({ query, response, gone }) => {
    const part = query.get('part');
    const send = (line: KeptLine): void => {
      if (part === null || line.fields.part === part) response.write(`${JSON.stringify(line)}\n`);
    };
    response.writeHead(200, { 'Content-Type': 'application/x-ndjson; charset=utf-8' });
    for (const line of book.lines()) send(line);
    if (query.get('follow') !== 'true') {
      response.end();
      return;
    }
    response.flushHeaders();
    const unfollow = book.follow(send);
    await new Promise<void>((resolve) => {
      if (gone.aborted) resolve();
      gone.addEventListener('abort', () => resolve(), { once: true });
    });
    unfollow();
    response.end();
  };
}
