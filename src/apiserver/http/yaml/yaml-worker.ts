// The other side of yaml-reader.ts: what runs in the thread. One text in, one answer out.

import { parentPort } from 'node:worker_threads';
import { YamlError } from './yaml-error.ts';
import type { FromYamlThread, ToYamlThread } from './yaml-reader.ts';
import { yamlToJson } from './yaml-to-json.ts';

const port = parentPort;

port?.on('message', ({ text, maxDepth }: ToYamlThread) => {
  port.postMessage(answerTo(text, maxDepth));
});

function answerTo(text: string, maxDepth: number): FromYamlThread {
  try {
    return { kind: 'read', result: yamlToJson(text, maxDepth) };
  } catch (error) {
    if (!(error instanceof YamlError)) throw error;
    return { kind: 'refused', message: error.message };
  }
}
