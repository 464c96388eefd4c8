// The connection to the server: listens to it, notices when it is gone, and comes back.

import type { Message } from '../page-messages.ts';
import type { Connection } from './model/model.ts';

export interface LiveOptions {
  onMessage(message: Message): void;
  onConnection(state: Connection): void;
}

export interface Live {
  /** After a refusal nothing is tried until somebody asks for it. */
  retry(): void;
}

const PATH = '/api/live';
/** A sample comes each second; a connection that says nothing for this long is one that a sleeping machine left behind. */
const SILENCE_MS = 15_000;
/** A server that restarts is back about then. */
const RETRY_MS = 2_000;

export function listen({ onMessage, onConnection }: LiveOptions): Live {
  let source: EventSource | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;

  const after = (ms: number, then: () => void): void => {
    clearTimeout(timer);
    timer = setTimeout(then, ms);
  };
  const open = (): void => {
    source?.close();
    source = new EventSource(PATH);
    source.onmessage = ({ data }: MessageEvent<string>) => {
      after(SILENCE_MS, reopen);
      onMessage(JSON.parse(data) as Message);
    };
    source.onerror = () => {
      onConnection('lost');
      // Connecting again is its own business unless it gave up, as it does at any answer that is not 200.
      if (source?.readyState === EventSource.CLOSED) void whenGivenUp();
    };
    after(SILENCE_MS, reopen);
  };
  const reopen = (): void => {
    onConnection('lost');
    open();
  };
  const whenGivenUp = async (): Promise<void> => {
    clearTimeout(timer);
    if (await isRefused()) onConnection('refused');
    else after(RETRY_MS, open);
  };
  open();
  return { retry: reopen };
}

/** An EventSource does not tell with which answer it ended. */
async function isRefused(): Promise<boolean> {
  const controller = new AbortController();
  try {
    const { status } = await fetch(PATH, { signal: controller.signal });
    return status === 401 || status === 403;
  } catch {
    return false;
  } finally {
    controller.abort();
  }
}
