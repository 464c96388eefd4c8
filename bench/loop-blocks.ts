// Loaded into a server's process with `--import`: measures how long its event loop is busy before it looks at its sockets
// again, in CPU time, so that other load on the machine does not count. A timer fires every millisecond; the CPU time
// between two of them is one value. Messages: `start`, and `stop`, which is answered with the values.
import { isMainThread } from 'node:worker_threads';

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
    let last = process.threadCpuUsage();
    timer = setInterval(() => {
      const now = process.threadCpuUsage();
      blocksMs.push((now.user + now.system - last.user - last.system) / 1000);
      last = now;
    }, 1);
  });
  process.channel?.unref();
}
