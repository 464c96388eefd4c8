// A process that serves one kind: an empty list, and a watch that sends the given number of new pods as fast as they
// are read. It does as little work as possible, so that the client is measured.
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

const count = Number(process.argv[2]);
const BATCH = 200;

function pod(index: number): object {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: `pod-${index}`,
      namespace: 'bench',
      uid: `uid-${index}`,
      resourceVersion: String(index + 2),
      creationTimestamp: '2026-01-01T00:00:00Z',
      labels: { app: 'bench', shard: String(index % 100) },
    },
    spec: {
      nodeName: `node-${index % 500}`,
      containers: [
        { name: 'main', image: 'registry.test/app:1', env: [{ name: 'A', value: 'x'.repeat(400) }] },
      ],
      volumes: [{ name: 'data', persistentVolumeClaim: { claimName: `claim-${index}` } }],
    },
    status: { phase: 'Running', podIP: '10.0.0.1', conditions: [{ type: 'Ready', status: 'True' }] },
  };
}

const batches: string[] = [];
for (let from = 0; from < count; from += BATCH) {
  let text = '';
  for (let index = from; index < Math.min(from + BATCH, count); index++) {
    text += `${JSON.stringify({ type: 'ADDED', object: pod(index) })}\n`;
  }
  batches.push(text);
}

async function stream(response: ServerResponse): Promise<void> {
  for (const batch of batches) {
    if (response.destroyed) return;
    if (!response.write(batch)) await new Promise((resolve) => response.once('drain', resolve));
  }
}

const server = createServer((request, response) => {
  const query = new URL(request.url ?? '', 'http://server').searchParams;
  response.setHeader('content-type', 'application/json');
  if (query.get('sendInitialEvents') === 'true') {
    response.statusCode = 422;
    response.end(
      JSON.stringify({ kind: 'Status', code: 422, reason: 'Invalid', message: 'no streaming lists' }),
    );
  } else if (query.has('watch')) void stream(response);
  else
    response.end(
      JSON.stringify({ kind: 'PodList', apiVersion: 'v1', metadata: { resourceVersion: '1' }, items: [] }),
    );
});
server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port));
process.once('disconnect', () => process.exit());
