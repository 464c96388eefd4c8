// A recording as a driver of the simulation: the abilities of the recorded driver, and its results and latencies in the order in which
// they were observed, over the simulation's own storage. A recorded error with a final code means that nothing was done; after any
// other, and after a lost answer, it may have been done: the seed decides. The errors end with the faults, latencies stay.

import { loopbackTransport } from '../../csi/client/loopback-transport.ts';
import type { CsiTransport } from '../../csi/client/transport.ts';
import { CsiError } from '../../csi/csi-error.ts';
import { nodeCapabilities } from '../../csi/messages/capabilities.ts';
import { outcomes } from '../../csi/outcome.ts';
import { type Recording, RecordingError } from '../../recording/read-recording.ts';
import { replayAsDriver } from '../../recording/replay/replay-as-driver.ts';
import { silentLog } from '../../runtime/log/log.ts';
import type { Random } from '../../runtime/ports.ts';
import { realClock } from '../../runtime/time/clock.ts';
import { askDriver } from '../../sidecars/common/identify-driver.ts';
import { create } from '../../wire/protobuf/create.ts';
import type { Message } from '../../wire/protobuf/descriptor.ts';
import { callFacts } from '../call-facts.ts';
import type { BackendInit, Subject } from '../driver-backend.ts';
import type { CallFacts } from '../history.ts';
import type { DriverPlan } from '../plan.ts';
import { never } from '../sim-process.ts';
import { StorageBackend } from '../storage-backend.ts';
import { type Course, type ObservedCall, ObservedCalls } from './observed-calls.ts';

const ASK = { timeoutMs: 10_000, signal: new AbortController().signal };

export async function recordedSubject(recording: Recording, driverName?: string): Promise<Subject> {
  const abilities = await abilitiesOf(recording, driverName);
  const observed = new ObservedCalls(recording.calls);
  return {
    plan: (drawn) => ({
      short: drawn.short,
      ephemeral: drawn.ephemeral,
      replicas: drawn.replicas,
      readyMs: drawn.readyMs ?? 0,
      copyMs: drawn.copyMs ?? 0,
      ...abilities,
    }),
    backend: (init) => new RecordedBackend(init, observed),
  };
}

type Abilities = Pick<
  DriverPlan,
  'name' | 'attaches' | 'stages' | 'topology' | 'lists' | 'expands' | 'snapshots'
>;

/** Asks the recording in the place of the driver, as a sidecar would. */
async function abilitiesOf(recording: Recording, driverName: string | undefined): Promise<Abilities> {
  const { services } = replayAsDriver(recording, {
    clock: realClock,
    keepsTiming: false,
    ...(driverName !== undefined && { driverName }),
  });
  const transport = loopbackTransport(services, {
    clock: realClock,
    log: silentLog,
    address: recording.path,
  });
  const { name, plugin, controller, group } = await askDriver(transport, ASK);
  const node = await nodeCapabilities(transport, ASK);
  if (!controller.has('CREATE_DELETE_VOLUME')) {
    throw new RecordingError(
      `${recording.path} cannot be simulated: its driver ${name} does not create volumes (CREATE_DELETE_VOLUME), and the users of a simulated cluster begin with a claim`,
    );
  }
  return {
    name,
    attaches: controller.has('PUBLISH_UNPUBLISH_VOLUME'),
    stages: node.has('STAGE_UNSTAGE_VOLUME'),
    topology: plugin.services.has('VOLUME_ACCESSIBILITY_CONSTRAINTS'),
    lists: controller.has('LIST_VOLUMES'),
    ...(controller.has('EXPAND_VOLUME') && {
      expands: node.has('EXPAND_VOLUME') ? ('node' as const) : ('controller' as const),
    }),
    ...(controller.has('CREATE_DELETE_SNAPSHOT') && {
      snapshots: group.has('CREATE_DELETE_GET_VOLUME_GROUP_SNAPSHOT')
        ? ('groups' as const)
        : ('single' as const),
    }),
  };
}

class RecordedBackend extends StorageBackend {
  readonly #observed: ObservedCalls;
  readonly #faults: BackendInit['faults'];
  readonly #chance: Random;
  /** Method, object and node to the course that was drawn for them, and how far it has come. */
  readonly #courses = new Map<string, { course: Course | undefined; next: number }>();

  constructor(init: BackendInit, observed: ObservedCalls) {
    super(init);
    this.#observed = observed;
    this.#faults = init.faults;
    this.#chance = init.random.fork('observed');
  }

  override get controller(): CsiTransport {
    return this.#observing(super.controller, '');
  }

  override node(name: string): CsiTransport {
    return this.#observing(super.node(name), name);
  }

  #observing(inner: CsiTransport, node: string): CsiTransport {
    return {
      call: async (method, init, options) => {
        const request = create(method.input, init) as Message;
        const facts = callFacts(method, request, this.plan.name, node);
        const { course, observed } = this.#next(facts);
        const proceed = (): Promise<Message> => inner.call(method, init, options) as Promise<Message>;
        const answer = observed ? this.#play(facts, observed, proceed) : proceed();
        return withContexts(await answer, course) as never;
      },
    };
  }

  #next({ method, volume, node }: CallFacts): {
    course: Course | undefined;
    observed: ObservedCall | undefined;
  } {
    const key = `${method} ${volume} ${node}`;
    const known = this.#courses.get(key) ?? { course: this.#observed.draw(method, this.#chance), next: 0 };
    this.#courses.set(key, known);
    const { course } = known;
    const observed = course?.[known.next] ?? course?.at(-1);
    const isOver = known.next >= (course?.length ?? 0);
    known.next += 1;
    // What comes after all that was seen is as good as the last success.
    return { course, observed: observed && isOver ? { ...observed, code: 'OK', isLost: false } : observed };
  }

  async #play(facts: CallFacts, observed: ObservedCall, proceed: () => Promise<Message>): Promise<Message> {
    const latencyMs = Math.max(1, Math.round(observed.latencyMs));
    this.pace(facts, latencyMs);
    const { code, text, isLost } = observed;
    if ((code === 'OK' && !isLost) || !this.#faults.active) return proceed();
    const row = outcomes[facts.method as keyof typeof outcomes];
    const saysNothingDone = !isLost && row?.[code].outcome !== 'maybe-in-progress';
    if (saysNothingDone && this.mayBeDone(facts)) return proceed();
    if (!saysNothingDone && this.#chance.next() < 0.5) await proceed().catch(() => {});
    else await this.clock.sleep(latencyMs);
    if (isLost && (code === 'CANCELLED' || code === 'DEADLINE_EXCEEDED')) return never();
    throw new CsiError({ code, message: text === '' ? 'as recorded' : text });
  }
}

type Contexts = Message & {
  volume?: { volumeContext?: Record<string, string> };
  publishContext?: Record<string, string>;
};

/** The contexts that the recorded driver answered with, under what the simulated storage adds. */
function withContexts(answer: Message, course: Course | undefined): Message {
  const recorded = course?.find(({ response }) => response !== undefined)?.response as Contexts | undefined;
  if (recorded === undefined) return answer;
  const { volume, publishContext } = answer as Contexts;
  if (volume) volume.volumeContext = { ...recorded.volume?.volumeContext, ...volume.volumeContext };
  if (publishContext) (answer as Contexts).publishContext = { ...recorded.publishContext, ...publishContext };
  return answer;
}
