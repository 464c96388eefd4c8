// Loaded into a process with `--import`: measures how long its event loop is busy before it looks at its sockets again, in
// CPU time, so that other load on the machine does not count. A timer fires every millisecond; the CPU time between two
// of them is one value. Messages: `start`, and `stop`, which is answered with the values. A process that replaces itself
// at its start loses its channel: with BENCH_BLOCKS, the longest value since its first connection, which comes after its
// modules are loaded, is written to that file at the end.
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { writeFileSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';

function everyBlock(report: (blockMs: number) => void): NodeJS.Timeout {
  let last = process.threadCpuUsage();
  return setInterval(() => {
    const now = process.threadCpuUsage();
    report((now.user + now.system - last.user - last.system) / 1000);
    last = now;
  }, 1);
}

const file = process.env.BENCH_BLOCKS;
if (isMainThread && process.send !== undefined) {
  let blocksMs: number[] = [];
  let timer: NodeJS.Timeout | undefined;
  process.on('message', (message) => {
    clearInterval(timer);
    if (message === 'stop') {
      process.send?.(blocksMs);
      return;
    }
    blocksMs = [];
    timer = everyBlock((blockMs) => blocksMs.push(blockMs));
  });
  process.channel?.unref();
} else if (isMainThread && file !== undefined) {
  let longestMs = 0;
  const begin = (): void => {
    unsubscribe('net.client.socket', begin);
    everyBlock((blockMs) => {
      longestMs = Math.max(longestMs, blockMs);
    }).unref();
  };
  subscribe('net.client.socket', begin);
  process.on('exit', () => writeFileSync(file, String(longestMs)));
}
