import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';

/** As much of a socket as an HTTP/2 connection uses, without a system under it. */
export class MemorySocket extends EventEmitter {
  readonly sent: Buffer[] = [];
  readonly writableNeedDrain = false;
  readonly writableLength = 0;
  writable = true;

  write(bytes: Buffer, done?: () => void): boolean {
    this.sent.push(bytes);
    if (done) process.nextTick(done);
    return true;
  }

  destroy(): void {
    if (!this.writable) return;
    this.writable = false;
    process.nextTick(() => this.emit('close'));
  }

  destroySoon(): void {
    this.destroy();
  }

  receive(bytes: Buffer): void {
    if (this.writable) this.emit('data', bytes);
  }

  asSocket(): Socket {
    return this as unknown as Socket;
  }
}
