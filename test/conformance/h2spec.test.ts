// h2spec, the conformance suite for HTTP/2 servers, against hostpath's socket, over a bridge from TCP. All of it passes,
// its strict cases included.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { type AddressInfo, connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { goProgramPath, lacking } from '../capabilities.ts';
import { startHostpath } from './hostpath-process.ts';

/** Cases that a gRPC server cannot pass, by their text, with the reason. src/wire/README.md has the same list. */
const cannotPass: Readonly<Record<string, string>> = {};
/** Of v2.2.1; later ones have more. */
const FEWEST_CASES = 146;

test('h2spec passes whole against the socket of a driver', {
  skip: lacking('h2spec'),
  timeout: 120_000,
}, async () => {
  const root = await mkdtemp(join(tmpdir(), 'berth-h2-'));
  const driver = await startHostpath(root);
  const bridge = createServer((tcp) => {
    const unix = connect(join(root, 's'));
    tcp.pipe(unix).pipe(tcp);
    // h2spec hangs up in the middle of things; what one side loses, the other loses too.
    for (const [from, to] of [[tcp, unix] as const, [unix, tcp] as const]) {
      from.on('error', () => to.destroy());
      from.on('close', () => to.destroySoon());
    }
  });
  try {
    bridge.listen(0, '127.0.0.1');
    await once(bridge, 'listening');
    const report = join(root, 'report.xml');
    const port = String((bridge.address() as AddressInfo).port);
    const child = spawn(
      goProgramPath('h2spec') as string,
      ['--strict', '-p', port, '-P', '/csi.v1.Identity/Probe', '--timeout', '10', '-j', report],
      { stdio: 'ignore' },
    );
    await once(child, 'exit');
    const cases = readReport(await readFile(report, 'utf8'));
    const bad = cases.filter(({ problem, name }) => problem !== undefined && !(name in cannotPass));
    assert.deepEqual(bad, []);
    assert.ok(cases.length >= FEWEST_CASES, `only ${cases.length} cases ran`);
  } finally {
    bridge.close();
    await driver.stop();
    await rm(root, { recursive: true, force: true });
  }
});

interface Case {
  name: string;
  problem: string | undefined;
}

/** A JUnit report: `<testcase package="http2/5.1" classname="…">`, empty when it passed. */
function readReport(xml: string): Case[] {
  const cases = xml.matchAll(
    /<testcase package="([^"]*)" classname="([^"]*)"[^>]*?(?:\/>|>(.*?)<\/testcase>)/gs,
  );
  return [...cases].map(([, section, name, inside = '']) => ({
    name: `${section} ${name}`,
    problem: inside.trim() === '' ? undefined : inside.trim(),
  }));
}
