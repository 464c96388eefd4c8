import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { Lease, PersistentVolumeClaim, StorageClass } from '../../../api/kinds.ts';
import type { Draft } from '../../../api/object.ts';
import {
  ANN_PROVISIONING_REQUEST,
  ANN_SELECTED_NODE,
  FINALIZER_PROVISIONING,
} from '../../../api/well-known.ts';
import { type DriverName, parseDriverName } from '../../../csi/names/driver-name.ts';
import type { KubeClient } from '../../../runtime/kube/kube.ts';
import { KubeError, type KubeErrorReason } from '../../../runtime/kube/kube-error.ts';
import { UnreadableLedgerError } from '../../../runtime/leases/lease-ledger.ts';
import { memoryLog } from '../../../runtime/log/log.ts';
import { seededRandom } from '../../../runtime/random.ts';
import type { Shares } from '../../../runtime/sharding/shares.ts';
import { VirtualClock } from '../../../runtime/time/virtual-clock.ts';
import { claimOf, type Intent, intentFor, intentOn } from './intent.ts';
import { createIntentLedger, ledgerName, pageOf } from './intent-ledger.ts';

const fail = (reason: KubeErrorReason, code = 0): never => {
  throw new KubeError({ reason, code, message: reason });
};

const intent = (uid: string, bytes = 0): Intent => ({
  namespace: 'default',
  name: `claim-${uid}`,
  uid,
  digest: 'd',
  asked: 1,
  since: '2026-01-01T00:00:00.000Z',
  ...(bytes > 0 && { annotations: { long: 'x'.repeat(bytes) } }),
  spec: { accessModes: ['ReadWriteOnce'] },
});

/** The outcome of a request: `late` is abandoned by its sender and takes effect afterwards. */
type Fate = 'done' | 'lost before' | 'lost after' | 'late';

/** One Lease on a server that checks versions; a write that changes nothing makes no new version. */
class Server {
  readonly clock = new VirtualClock();
  lease: Lease | undefined;
  /** Each version of its contents. */
  readonly pages: string[][] = [];
  refuses: KubeErrorReason | undefined;
  fate: (verb: string) => Fate = () => 'done';
  latencyMs: () => number = () => 5;
  onStored = (): void => {};

  get uids(): string[] {
    return pageOf(this.lease).entries.map(({ uid }) => uid);
  }

  client(): KubeClient {
    const store = (draft: Draft<Lease>): Lease => {
      if (this.lease && JSON.stringify(draft) === JSON.stringify(this.lease)) return this.lease;
      const resourceVersion = String(this.pages.length + 1);
      this.lease = structuredClone({ ...draft, metadata: { ...draft.metadata, resourceVersion } }) as Lease;
      this.pages.push(this.uids);
      this.onStored();
      return this.lease;
    };
    const call = async <T>(verb: string, signal: AbortSignal | undefined, act: () => T): Promise<T> => {
      signal?.throwIfAborted();
      const fate = this.fate(verb);
      try {
        await this.clock.sleep(this.latencyMs(), signal);
      } catch (error) {
        if (fate !== 'lost before') this.#later(act);
        throw error;
      }
      if (fate === 'late') this.#later(act);
      if (fate === 'late' || fate === 'lost before') return fail('Unreachable');
      if (this.refuses) return fail(this.refuses);
      const answer = act();
      await this.clock.sleep(this.latencyMs(), signal);
      return fate === 'lost after' ? fail('Unreachable') : answer;
    };
    const client = {
      get: (_resource: unknown, _name: unknown, { signal }: { signal?: AbortSignal }) =>
        call('get', signal, () => this.lease ?? fail('NotFound', 404)),
      create: (_resource: unknown, draft: Draft<Lease>, { signal }: { signal?: AbortSignal }) =>
        call('create', signal, () => (this.lease ? fail('AlreadyExists', 409) : store(draft))),
      update: (_resource: unknown, draft: Draft<Lease>, { signal }: { signal?: AbortSignal }) =>
        call('update', signal, () => {
          if (!this.lease) return fail('NotFound', 404);
          const isCurrent = draft.metadata.resourceVersion === this.lease.metadata.resourceVersion;
          return isCurrent ? store(draft) : fail('Conflict', 409);
        }),
    };
    return client as unknown as KubeClient;
  }

  #later(act: () => unknown): void {
    this.clock.setTimeout(() => {
      try {
        act();
      } catch {
        // The response is lost.
      }
    }, 50 + this.latencyMs());
  }
}

function ledgerOn(
  server: Server,
  found: (intent: Intent) => void = () => {},
  left: (intent: Intent) => void = () => {},
  shares?: Shares,
) {
  const stop = new AbortController();
  const { signal } = stop;
  const log = memoryLog();
  const { clock } = server;
  const driver = { name: parseDriverName('d.test') };
  const ledger = createIntentLedger(
    { kube: server.client(), clock, log, driver, namespace: 'ns', nodeName: undefined, shares },
    { found, left },
  );
  const opened = ledger.open(signal).then(() => void ledger.run(signal));
  opened.catch(() => {});
  return { ledger, stop, signal, log, opened };
}

describe('the ledger of intents', () => {
  it('writes the first at once, and coalesces those that arrive meanwhile', async () => {
    const server = new Server();
    const { ledger, signal, opened } = ledgerOn(server);
    await server.clock.runUntil(opened, 100);
    const begunMs = server.clock.monotonicMs();
    const first = ledger.begin(intent('a'), signal);
    await server.clock.advance(1);
    const others = ['b', 'c', 'd'].map((uid) => ledger.begin(intent(uid), signal));
    assert.equal(await server.clock.runUntil(first, 100), true);
    assert.equal(server.clock.monotonicMs() - begunMs, 10, 'no longer than its own write');
    await server.clock.runUntil(Promise.all(others), 100);
    assert.deepEqual(server.pages, [['a'], ['a', 'b', 'c', 'd']]);
  });

  it('drops finished intents with the next write, or a moment later', async () => {
    const server = new Server();
    const { ledger, signal, opened } = ledgerOn(server);
    await server.clock.runUntil(opened, 100);
    await server.clock.runUntil(ledger.begin(intent('a'), signal), 100);
    ledger.end('a');
    await server.clock.runUntil(ledger.begin(intent('b'), signal), 100);
    ledger.end('b');
    await server.clock.advance(400);
    assert.deepEqual(server.pages, [['a'], ['b']]);
    await server.clock.advance(200);
    assert.deepEqual(server.pages, [['a'], ['b'], []]);
    await server.clock.advance(60_000);
    assert.equal(server.pages.length, 3, 'and then it is quiet');
  });

  it('says when a finished intent can no longer be found, and counts it until then', async () => {
    const server = new Server();
    const left: string[] = [];
    const { ledger, signal, opened } = ledgerOn(server, undefined, ({ uid }) => {
      assert.deepEqual(server.uids, [], 'not before that');
      left.push(uid);
    });
    const findable = () => ledger.findable().map(({ uid }) => uid);
    await server.clock.runUntil(opened, 100);
    await server.clock.runUntil(ledger.begin(intent('a'), signal), 100);
    assert.deepEqual(findable(), ['a']);
    ledger.end('a');
    assert.deepEqual(ledger.all(), []);
    assert.deepEqual(findable(), ['a']);
    assert.deepEqual(server.uids, ['a']);
    let attempts = 0;
    server.fate = () => (attempts++ < 2 ? 'lost before' : 'done');
    await server.clock.runUntil(() => left.length > 0, 10_000);
    assert.ok(attempts > 2, 'after a write that failed');
    assert.deepEqual(findable(), []);
    await server.clock.advance(10_000);
    assert.deepEqual(left, ['a'], 'once');
  });

  it('says nothing of a finished intent that begins anew before it has left', async () => {
    const server = new Server();
    const left: string[] = [];
    const { ledger, signal, opened } = ledgerOn(server, undefined, ({ uid }) => left.push(uid));
    await server.clock.runUntil(opened, 100);
    await server.clock.runUntil(ledger.begin(intent('a'), signal), 100);
    ledger.end('a');
    await server.clock.runUntil(ledger.begin(intent('a'), signal), 100);
    await server.clock.advance(10_000);
    assert.deepEqual([left, server.uids], [[], ['a']]);
  });

  /** A replica that has found `a`, and ended it. */
  async function sharedLedger() {
    const server = new Server();
    const alone = ledgerOn(server);
    await server.clock.runUntil(alone.opened, 100);
    await server.clock.runUntil(alone.ledger.begin(intent('a'), alone.signal), 100);
    alone.stop.abort(new Error('stop'));
    const left: string[] = [];
    const { ledger, opened } = ledgerOn(server, undefined, ({ uid }) => left.push(uid), {} as Shares);
    await server.clock.runUntil(opened, 100);
    const share = (isMine: boolean) =>
      server.clock.runUntil(
        ledger.share(() => isMine),
        100,
      );
    await share(true);
    ledger.end('a');
    return { server, ledger, left, share };
  }

  it('says nothing of a finished intent that became another replica’s before it has left', async () => {
    const { server, ledger, left, share } = await sharedLedger();
    await share(false);
    await server.clock.advance(10_000);
    assert.deepEqual([left, ledger.findable(), server.uids], [[], [], ['a']]);
  });

  it('says that a finished intent can no longer be found by the replica whose it is now', async () => {
    const { server, ledger, left, share } = await sharedLedger();
    server.fate = (verb) => (verb === 'update' ? 'lost after' : 'lost before');
    await server.clock.runUntil(() => server.uids.length === 0, 1000);
    server.fate = () => 'done';
    await share(false);
    await server.clock.advance(10_000);
    assert.deepEqual([left, ledger.findable(), server.uids], [['a'], [], []]);
  });

  it('says it also when that intent became another replica’s while the write was on its way', async () => {
    const { server, left, share } = await sharedLedger();
    server.latencyMs = () => 50;
    await server.clock.advance(510);
    server.latencyMs = () => 5;
    await share(false);
    assert.deepEqual([left, server.uids], [[], ['a']]);
    await server.clock.advance(10_000);
    assert.deepEqual([left, server.uids], [['a'], []]);
  });

  it('waits for no finished intent to leave when the Lease cannot be written', async () => {
    const server = new Server();
    const left: string[] = [];
    const { ledger, signal, opened } = ledgerOn(server, undefined, ({ uid }) => left.push(uid));
    await server.clock.runUntil(opened, 100);
    const begun = ['a', 'b'].map((uid) => ledger.begin(intent(uid), signal));
    await server.clock.runUntil(Promise.all(begun), 100);
    ledger.end('a');
    server.refuses = 'Forbidden';
    await server.clock.runUntil(() => left.length > 0, 10_000);
    ledger.end('b');
    assert.deepEqual([left, ledger.findable()], [['a', 'b'], []]);
  });

  it('passes on the intents it finds, and fences off writes of the previous process', async () => {
    const server = new Server();
    const before = ledgerOn(server);
    await server.clock.runUntil(before.opened, 100);
    await server.clock.runUntil(before.ledger.begin(intent('a'), before.signal), 100);
    // Sent and abandoned; in flight when the next one starts.
    before.ledger.end('a');
    await server.clock.advance(502);
    before.stop.abort(new Error('killed'));
    const found: string[] = [];
    const after = ledgerOn(server, ({ uid }) => found.push(uid));
    await server.clock.runUntil(after.opened, 1000);
    assert.deepEqual(found, ['a']);
    await server.clock.advance(10_000);
    assert.deepEqual(server.uids, ['a'], 'until its end is known');
    after.ledger.end('a');
    await server.clock.advance(1000);
    assert.deepEqual(server.uids, []);
  });

  it('[SCL-1] fences off writes of the previous process also when replicas share what it left', async () => {
    const server = new Server();
    const before = ledgerOn(server);
    await server.clock.runUntil(before.opened, 100);
    await server.clock.runUntil(before.ledger.begin(intent('a'), before.signal), 100);
    const found: string[] = [];
    const after = ledgerOn(server, ({ uid }) => found.push(uid), undefined, {} as Shares);
    await server.clock.runUntil(after.opened, 100);
    // Sent and abandoned; it arrives after the replica has read.
    server.fate = (verb) => (verb === 'update' ? 'late' : 'done');
    before.ledger.end('a');
    await server.clock.advance(502);
    before.stop.abort(new Error('killed'));
    server.fate = () => 'done';
    const share = after.ledger.share(() => true);
    await server.clock.runUntil(share, 100);
    assert.deepEqual(found, ['a']);
    await server.clock.advance(10_000);
    assert.deepEqual(server.uids, ['a'], 'until its end is known');
    after.ledger.end('a');
    await server.clock.advance(1000);
    assert.deepEqual(server.uids, []);
  });

  it('[SCL-1] brings back nothing that a write of its own removes while it takes over the rest', async () => {
    const server = new Server();
    const alone = ledgerOn(server);
    await server.clock.runUntil(alone.opened, 100);
    const begun = ['a', 'b', 'c'].map((uid) => alone.ledger.begin(intent(uid), alone.signal));
    await server.clock.runUntil(Promise.all(begun), 100);
    alone.stop.abort(new Error('stop'));
    const { ledger, opened } = ledgerOn(server, undefined, undefined, {} as Shares);
    const share = (mine: string[]) =>
      server.clock.runUntil(
        ledger.share((uid) => mine.includes(uid)),
        1000,
      );
    await server.clock.runUntil(opened, 100);
    await share(['a', 'b', 'c']);
    ledger.end('a');
    server.latencyMs = () => 50;
    await server.clock.advance(540);
    server.latencyMs = () => 5;
    // It arrives between the read and the write of this.
    await share(['b', 'c']);
    await server.clock.advance(10_000);
    assert.deepEqual(server.uids.toSorted(), ['b', 'c']);
    ledger.end('b');
    await server.clock.advance(10_000);
    assert.deepEqual(server.uids.toSorted(), ['c']);
  });

  for (const reason of ['Forbidden', 'Invalid'] as const) {
    it(`accepts none when the server answers ${reason}, and logs it once`, async () => {
      const server = new Server();
      const { ledger, signal, opened, log } = ledgerOn(server);
      await server.clock.runUntil(opened, 100);
      server.refuses = reason;
      assert.equal(await server.clock.runUntil(ledger.begin(intent('a'), signal), 1000), false);
      assert.equal(await server.clock.runUntil(ledger.begin(intent('b'), signal), 1000), false);
      assert.deepEqual(ledger.all(), []);
      assert.equal(log.text().split('cannot be kept').length, 2);
    });
  }

  it('accepts none that exceeds the size limit', async () => {
    const server = new Server();
    const { ledger, signal, opened } = ledgerOn(server);
    await server.clock.runUntil(opened, 100);
    const begun = ['a', 'b', 'c'].map((uid) => ledger.begin(intent(uid, 90 * 1024), signal));
    assert.deepEqual(await server.clock.runUntil(Promise.all(begun), 1000), [true, true, false]);
    ledger.end('a');
    assert.equal(await server.clock.runUntil(ledger.begin(intent('c', 90 * 1024), signal), 1000), true);
    assert.deepEqual(server.uids, ['b', 'c']);
  });

  it('fails pending intents while the server is unreachable, and recovers', async () => {
    const server = new Server();
    const { ledger, signal, opened } = ledgerOn(server);
    await server.clock.runUntil(opened, 100);
    server.fate = () => 'lost before';
    await assert.rejects(server.clock.runUntil(ledger.begin(intent('a'), signal), 1000), /Unreachable/);
    assert.equal(ledger.get('a'), undefined);
    server.fate = () => 'done';
    assert.equal(await server.clock.runUntil(ledger.begin(intent('a'), signal), 1000), true);
    assert.deepEqual(server.uids, ['a']);
  });

  it('fails pending intents on shutdown', async () => {
    const server = new Server();
    const { ledger, stop, signal, opened } = ledgerOn(server);
    await server.clock.runUntil(opened, 100);
    const begun = ledger.begin(intent('a'), signal);
    const next = server.clock.sleep(1).then(() => ledger.begin(intent('b'), signal));
    await server.clock.advance(2);
    stop.abort(new Error('stop'));
    await assert.rejects(server.clock.runUntil(begun, 100), /stop/);
    await assert.rejects(server.clock.runUntil(next, 100), /stop/);
    await assert.rejects(ledger.begin(intent('c'), signal), /stop/);
  });

  it('never loses an open intent, through lost, late and concurrent writes and crashes', async () => {
    let begun = 0;
    let handedOn = 0;
    await fc.assert(
      fc.asyncProperty(fc.nat(), async (seed) => {
        const server = new Server();
        const { clock } = server;
        const random = seededRandom(`ledger ${seed}`);
        const fates: Fate[] = ['lost before', 'lost after', 'late'];
        server.latencyMs = () => 1 + random.int(30);
        server.fate = () => (random.next() < 0.25 ? (fates[random.int(3)] as Fate) : 'done');
        const lost: string[] = [];
        /** Intents whose driver call may run until its outcome is known. */
        const standing = new Set<string>();
        /**
         * Of two that run at once, one can take for left over what the other is about to begin. Leader election
         * excludes that.
         */
        const ended = new Set<string>();
        server.onStored = () => {
          for (const uid of standing) if (!server.uids.includes(uid)) lost.push(uid);
        };
        type Term = ReturnType<typeof ledgerOn>;
        const terms: Term[] = [];
        const start = (): void => {
          const term: Term = ledgerOn(server, ({ uid }) => {
            handedOn++;
            clock.setTimeout(() => over(term, uid), random.int(500));
          });
          terms.push(term);
        };
        const over = ({ ledger, signal }: Term, uid: string): void => {
          if (signal.aborted) return;
          standing.delete(uid);
          ended.add(uid);
          ledger.end(uid);
        };
        const begin = async (term: Term, uid: string): Promise<void> => {
          await term.opened;
          if (!(await term.ledger.begin(intent(uid), term.signal)) || term.signal.aborted) return;
          if (ended.has(uid)) return;
          begun++;
          standing.add(uid);
          if (!server.uids.includes(uid)) lost.push(uid);
          clock.setTimeout(() => over(term, uid), random.int(300));
        };
        start();
        for (let step = 0; step < 60; step++) {
          await clock.advance(random.int(60));
          const term = terms[random.int(terms.length)] as Term;
          if (random.next() < 0.06) {
            term.stop.abort(new Error('killed'));
            terms.splice(terms.indexOf(term), 1);
          }
          if (terms.length === 0 || (terms.length === 1 && random.next() < 0.03)) start();
          begin(terms[random.int(terms.length)] as Term, `${step}`).catch(() => {});
        }
        server.fate = () => 'done';
        for (const term of terms.splice(1)) term.stop.abort(new Error('the last one is left'));
        (terms[0] as Term).stop.abort(new Error('and handed over'));
        start();
        await clock.advance(1_000);
        // A write of a killed process may have arrived after the last read. It led to no call; the next write finds it.
        begin(terms.at(-1) as Term, 'last').catch(() => {});
        await clock.advance(60_000);
        assert.deepEqual(lost, []);
        assert.deepEqual([[...standing], server.uids], [[], []], 'everything comes to an end');
      }),
      { numRuns: 80, examples: [[1717000450]] },
    );
    assert.ok(begun > 1000 && handedOn > 100, `only ${begun} were begun and ${handedOn} handed on`);
  });
});

describe('an intent', () => {
  const claim = {
    metadata: {
      namespace: 'default',
      name: 'data',
      uid: 'u1',
      annotations: { [ANN_SELECTED_NODE]: 'n1', team: 'blue', other: 'x' },
    },
    spec: { accessModes: ['ReadWriteOnce'], storageClassName: 'fast' },
  } as unknown as PersistentVolumeClaim;
  const storageClass = { parameters: { name: `creds-\${pvc.annotations['team']}`, other: 'other' } };
  const facts = { storageClass: storageClass as unknown as StorageClass, digest: 'd', nowMs: 0 };

  it('holds what planning reads of the claim, and no more', () => {
    const written = JSON.parse(JSON.stringify(intentFor(claim, facts)));
    assert.deepEqual(written.annotations, { [ANN_SELECTED_NODE]: 'n1', team: 'blue' });
    const again = claimOf(written);
    assert.equal(again.metadata.uid, 'u1');
    assert.ok(again.metadata.deletionTimestamp);
    assert.deepEqual(again.spec, claim.spec);
  });

  describe('on the claim', () => {
    const since = '2020-01-01T00:00:00Z';
    const on = (request: string | undefined, change: object = {}) =>
      intentOn({
        metadata: {
          ...claim.metadata,
          creationTimestamp: since,
          finalizers: [FINALIZER_PROVISIONING],
          annotations: request === undefined ? {} : { [ANN_PROVISIONING_REQUEST]: request },
        },
        spec: { ...claim.spec, ...change },
      } as unknown as PersistentVolumeClaim);
    const bare = { namespace: 'default', name: 'data', uid: 'u1' };
    const unknown = { ...bare, digest: '', asked: 2, since, spec: claim.spec };

    it('is there with its finalizer', () => {
      assert.equal(intentOn(claim), undefined);
    });

    for (const text of [
      undefined,
      '',
      'null',
      '{',
      '{}',
      '{"source":{"kind":"volume"}}',
      '{"source":{"id":"x"}}',
    ])
      it(`counts as several calls for another request when it reads ${text}`, () => {
        assert.deepEqual(on(text), unknown);
      });

    for (const kind of ['snapshot', 'volume'])
      it(`has a ${kind} as its source`, () => {
        const source = { kind, id: 'x' };
        assert.deepEqual(on(JSON.stringify({ source })), { ...unknown, source });
      });
    it('has no source of another kind', () => {
      assert.deepEqual(on('{"source":{"kind":"tape","id":"x"}}'), unknown);
    });

    it('asks for the size and attributes of the first call, and otherwise for what the claim says', () => {
      const first = { resources: { requests: { storage: '1Gi' } }, volumeAttributesClassName: 'gold' };
      const written = { digest: 'd', asked: 1, since: 'then', spec: { ...first, accessModes: ['Edited'] } };
      const now = { resources: { requests: { storage: '2Gi' } }, volumeAttributesClassName: 'silver' };
      assert.deepEqual(on(JSON.stringify(written), now), {
        ...bare,
        ...written,
        spec: { ...claim.spec, ...first },
      });
      const without = on(JSON.stringify({ ...written, spec: {} }), now);
      assert.deepEqual(without?.spec, { ...claim.spec, resources: now.resources });
    });
  });

  it('an unreadable page is an error, not an empty ledger', () => {
    for (const text of ['', 'null', '[]', '{"writes":1}', '{"writes":1,"intents":[{}]}', '{"intents":[]}']) {
      const annotations = { 'csi.berth/provisioning-intents': text };
      assert.throws(
        () => pageOf({ metadata: { annotations } } as unknown as Lease),
        UnreadableLedgerError,
        text,
      );
    }
  });

  it('is in a Lease of the driver, or of driver and node, whose name is not too long', () => {
    assert.equal(
      ledgerName('hostpath.csi.Example_com' as DriverName),
      'provisioning-intents.hostpath.csi.example-com',
    );
    assert.equal(ledgerName(parseDriverName('d'), 'node-1'), 'provisioning-intents.d.node-1');
    const longest = 'n'.repeat(250);
    assert.ok(ledgerName(parseDriverName('d'), longest).length <= 253);
    assert.notEqual(
      ledgerName(parseDriverName('d'), longest),
      ledgerName(parseDriverName('d'), `${longest}x`),
    );
  });
});
