// Test support: short socket paths that are cleaned up, and a raw HTTP/2 server that can answer what no gRPC library would.

import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type ServerHttp2Stream } from 'node:http2';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { prefixed } from './prefixed.ts';

export async function temporaryDirectory(context: TestContext): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'csi-'));
  context.after(() => rm(directory, { recursive: true, force: true }));
  return directory;
}

export async function temporarySocket(context: TestContext): Promise<string> {
  return join(await temporaryDirectory(context), 's');
}

/** Answers each call with `answer`, whatever was asked. */
export async function rawServer(
  context: TestContext,
  path: string,
  answer: (stream: ServerHttp2Stream) => void,
): Promise<void> {
  const server = createServer();
  const sessions = new Set<{ destroy(): void }>();
  server.on('session', (session) => sessions.add(session));
  server.on('stream', answer);
  await new Promise<void>((resolve) => server.listen(path, resolve));
  context.after(async () => {
    for (const session of sessions) session.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
}

/** A gRPC answer with any status number, and optionally a message's bytes. */
export function answerWith(
  stream: ServerHttp2Stream,
  answer: { status: number | string; text?: string; bytes?: Uint8Array },
): void {
  stream.respond({ ':status': 200, 'content-type': 'application/grpc+proto' }, { waitForTrailers: true });
  stream.on('wantTrailers', () =>
    stream.sendTrailers({
      'grpc-status': String(answer.status),
      ...(answer.text !== undefined && { 'grpc-message': encodeURIComponent(answer.text) }),
    }),
  );
  if (answer.bytes) stream.write(prefixed(answer.bytes));
  stream.end();
}
