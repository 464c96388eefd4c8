// The worker thread of yaml-converter.ts: one text in, one result out.

import { parentPort } from 'node:worker_threads';
import { toJson, toYaml } from './convert.ts';
import type { FromYamlThread, ToYamlThread } from './yaml-converter.ts';
import { YamlError } from './yaml-error.ts';

const port = parentPort;

port?.on('message', (asked: ToYamlThread) => port.postMessage(answerTo(asked)));

function answerTo({ to, text, maxDepth }: ToYamlThread): FromYamlThread {
  try {
    return { kind: 'converted', result: to === 'json' ? toJson(text, maxDepth) : toYaml(text) };
  } catch (error) {
    if (!(error instanceof YamlError)) throw error;
    return { kind: 'refused', message: error.message };
  }
}
