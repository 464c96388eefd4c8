// The kept log lines over HTTPS: `GET /berth/logs?part=provisioner`, answered as one JSON value a line.

import { answerLines, type PathHandler } from '../runtime/process/path-handler.ts';
import type { KeptLine, LogBook } from './log-book.ts';

export const LOGS_PATH = '/berth/logs';

export function logsPath(book: LogBook): PathHandler {
  return async (request) => {
    const part = request.query.get('part');
    const isWanted = ({ fields }: KeptLine): boolean => part === null || fields.part === part;
    await answerLines(request, {
      kept: book.lines().filter(isWanted),
      follow: (listener) =>
        book.follow((line) => {
          if (isWanted(line)) listener(line);
        }),
    });
  };
}
