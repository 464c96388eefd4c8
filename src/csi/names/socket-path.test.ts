import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { dirname, join, resolve } from 'node:path';
import { describe, it } from 'node:test';
import { temporaryDirectory } from '../../wire/testing/test-socket.ts';
import { maxSocketPathBytes, shortSocketPath, socketPath } from './socket-path.ts';

describe('socketPath', () => {
  const good: [address: string, path: string][] = [
    ['/run/csi/socket', '/run/csi/socket'],
    ['unix:///run/csi/socket', '/run/csi/socket'],
    ['unix:/run/csi/socket', '/run/csi/socket'],
    ['unix:csi.sock', resolve('csi.sock')],
    ['csi.sock', resolve('csi.sock')],
  ];
  for (const [address, path] of good) {
    it(`reads ${address}`, () => assert.equal(socketPath(address), path));
  }
  const bad: [address: string, why: RegExp][] = [
    ['', /names no file/],
    ['unix:', /names no file/],
    ['unix:///', /names no file/],
    ['/run/csi/', /names no file/],
    ['unix://csi/csi.sock', /did you mean unix:\/\/\/csi\/csi\.sock/],
    ['tcp://127.0.0.1:5000', /only unix sockets/],
    ['dns:localhost:1', /only unix sockets/],
    ['localhost:5000', /only unix sockets/],
    ['/a\0b', /NUL/],
  ];
  for (const [address, why] of bad) {
    it(`refuses ${JSON.stringify(address)}`, () => assert.throws(() => socketPath(address), why));
  }
});

describe('shortSocketPath', () => {
  const echo = async (listenOn: string, connectTo: string): Promise<string> => {
    const server = createServer((socket) => socket.end('here'));
    await new Promise<void>((done, fail) => server.once('error', fail).listen(listenOn, done));
    try {
      const client = connect(connectTo);
      let text = '';
      for await (const part of client) text += part;
      return text;
    } finally {
      await new Promise((done) => server.close(done));
    }
  };

  for (const bytes of [maxSocketPathBytes, maxSocketPathBytes + 1, 300]) {
    it(`reaches a socket whose path has ${bytes} bytes, from both ends`, async (context) => {
      const directory = await temporaryDirectory(context);
      const room = bytes - directory.length - '//s'.length;
      // A directory name holds at most 255 bytes.
      const path = join(directory, 'd'.repeat(Math.min(room, 250)).padEnd(0), 's').padEnd(bytes, 'x');
      await mkdir(dirname(path), { recursive: true });
      assert.equal(Buffer.byteLength(path), bytes);
      const listening = shortSocketPath(path);
      const connecting = shortSocketPath(path);
      assert.equal(listening.path === path, bytes <= maxSocketPathBytes);
      assert.equal(await echo(listening.path, connecting.path), 'here');
      for (const short of [listening, connecting]) {
        short.release();
        short.release();
        if (short.path !== path) assert.ok(!existsSync(dirname(dirname(short.path))), 'the link is gone');
      }
      assert.ok(existsSync(dirname(path)), 'releasing the link leaves the directory alone');
    });
  }

  it('says what to do when even the file name is too long', () => {
    assert.throws(
      () => shortSocketPath(`/tmp/${'x'.repeat(120)}`),
      /125 bytes long, the system allows 107.*shorter/s,
    );
  });
});
