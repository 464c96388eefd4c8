// The connection to the server: receives events, detects a lost connection, and reconnects.

import type { Message } from '../page-messages.ts';
import type { Connection } from './model/model.ts';

export interface LiveOptions {
  onMessage(message: Message): void;
  onConnection(state: Connection): void;
}

export interface Live {
  /** After a refusal nothing is retried until the user asks for it. */
  retry(): void;
}

const PATH = '/api/live';
/** A sample comes each second; a connection without messages for this long is dead, as after the machine slept. */
const SILENCE_MS = 15_000;
/** A server that restarts is usually back by then. */
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
      // EventSource reconnects itself unless it gave up, as it does at any status other than 200.
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

/** An EventSource does not expose the status with which it ended. */
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
