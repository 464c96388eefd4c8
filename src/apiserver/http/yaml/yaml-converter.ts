// Converts YAML without blocking other clients. A megabyte takes seconds, so all but small texts are converted in a
// worker thread, one at a time, with clients in turns, within a time and memory limit. The thread starts on demand and
// ends when idle.

import { Worker } from 'node:worker_threads';
import type { Clock, Timer } from '../../../runtime/ports.ts';
import { threadEnvironment } from '../../../runtime/process/thread-environment.ts';
import { type YamlAsJson, YamlError } from './yaml-error.ts';

export interface YamlConverter {
  /** Rejects with a YamlError if the text is invalid, or takes too long. */
  toJson(yaml: string, client: string): Promise<YamlAsJson>;
  /** Rejects with a YamlError if it takes too long. */
  toYaml(json: string, client: string): Promise<string>;
  stop(): Promise<void>;
}

export interface ToYamlThread extends Conversion {
  readonly maxDepth: number;
}

export type FromYamlThread =
  | { readonly kind: 'converted'; readonly result: YamlAsJson | string }
  | { readonly kind: 'refused'; readonly message: string };

interface Conversion {
  readonly to: 'json' | 'yaml';
  readonly text: string;
}

/** About five milliseconds of work. */
const SMALL_LENGTH = 4 * 1024;
/** The largest body takes about six seconds on a slow machine. */
const CONVERT_MS = 20_000;
const IDLE_MS = 10_000;
const HEAP_MB = 512;

interface Job extends Conversion {
  readonly client: string;
  readonly done: PromiseWithResolvers<YamlAsJson | string>;
}

export function createYamlConverter(clock: Clock, maxDepth: number): YamlConverter {
  const waiting: Job[] = [];
  let current: Job | undefined;
  let lastClient: string | undefined;
  let worker: Worker | undefined;
  let timer: Timer | undefined;

  const finish = (settle: (job: Job) => void): void => {
    const job = current;
    current = undefined;
    timer?.cancel();
    if (job !== undefined) settle(job);
    next();
  };
  const drop = (): Worker | undefined => {
    const dropped = worker;
    worker = undefined;
    return dropped;
  };
  const start = (): Worker => {
    const file = import.meta.url.endsWith('.ts') ? './yaml-worker.ts' : './yaml-worker.js';
    const started = new Worker(new URL(file, import.meta.url), {
      env: threadEnvironment(),
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MB },
    });
    started.on('message', (answer: FromYamlThread) =>
      finish(({ done }) =>
        answer.kind === 'converted'
          ? done.resolve(answer.result)
          : done.reject(new YamlError(answer.message)),
      ),
    );
    // An exit event follows the error.
    started.on('error', () => {});
    started.on('exit', () => {
      if (worker !== started) return;
      drop();
      finish(({ done }) => done.reject(new YamlError('it takes too much memory to convert; use JSON')));
    });
    return started;
  };
  const next = (): void => {
    if (current !== undefined) return;
    // A client that sends many waits for those that send few.
    const other = waiting.findIndex(({ client }) => client !== lastClient);
    [current] = waiting.splice(Math.max(other, 0), 1);
    if (current === undefined) {
      if (worker === undefined) return;
      worker.unref();
      timer = clock.setTimeout(() => void drop()?.terminate(), IDLE_MS);
      return;
    }
    lastClient = current.client;
    worker ??= start();
    worker.ref();
    const { to, text } = current;
    worker.postMessage({ to, text, maxDepth } satisfies ToYamlThread);
    timer = clock.setTimeout(() => {
      void drop()?.terminate();
      finish(({ done }) => done.reject(new YamlError('it takes too long to convert; use JSON')));
    }, CONVERT_MS);
  };

  const convert = async (conversion: Conversion, client: string): Promise<YamlAsJson | string> => {
    if (conversion.text.length <= SMALL_LENGTH) {
      const { toJson, toYaml } = await import('./convert.ts');
      return conversion.to === 'json' ? toJson(conversion.text, maxDepth) : toYaml(conversion.text);
    }
    const done = Promise.withResolvers<YamlAsJson | string>();
    waiting.push({ ...conversion, client, done });
    if (current === undefined) timer?.cancel();
    next();
    return done.promise;
  };

  return {
    toJson: (text, client) => convert({ to: 'json', text }, client) as Promise<YamlAsJson>,
    toYaml: (text, client) => convert({ to: 'yaml', text }, client) as Promise<string>,
    async stop() {
      timer?.cancel();
      for (const { done } of waiting.splice(0)) done.reject(new YamlError('the server is stopping'));
      current?.done.reject(new YamlError('the server is stopping'));
      current = undefined;
      await drop()?.terminate();
    },
  };
}
