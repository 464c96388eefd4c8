// Composes the embedded API server: store, kinds, authorization, admission, bootstrap objects, and the two entry points
// (local and HTTPS). `berth apiserver` runs one; `berth up`, tests and the simulation have one in their own process.

import { join } from 'node:path';
import type { Discovery, KubeClient } from '../runtime/kube/kube.ts';
import type { Clock, Log, Random } from '../runtime/ports.ts';
import type { PathHandler } from '../runtime/process/path-handler.ts';
import { type AdmissionOptions, admissionPlugins } from './admission/admission-plugins.ts';
import { createAuthenticator } from './auth/authenticator.ts';
import { createKubeconfigKeeper } from './auth/keep-kubeconfig.ts';
import { openIdPaths } from './auth/openid.ts';
import { createPki, type Pki } from './auth/pki.ts';
import { ADMIN } from './auth/users.ts';
import { createAuthorizer } from './authorization/authorizer.ts';
import { followRoleAggregation } from './authorization/role-aggregation.ts';
import { createVirtualAnswers } from './authorization/virtual-answers.ts';
import { bootstrapStore } from './bootstrap/bootstrap-store.ts';
import { publishRootCa } from './bootstrap/root-ca.ts';
import { followCustomResources } from './crd/custom-resources.ts';
import { followEvents } from './event-expiry.ts';
import type { DoorLimits, HttpsDoor } from './http/https-door.ts';
import { NODE_CREDENTIALS_PATH, nodeCredentialsPath } from './http/node-credentials-path.ts';
import type { Kind } from './kind.ts';
import { createKindRegistry } from './kind-registry.ts';
import { builtinKinds } from './kinds/index.ts';
import { createLocalClient } from './local-door.ts';
import { FieldSets } from './patch/field-sets.ts';
import type { Reader, User } from './pipeline.ts';
import type { Journal } from './storage/journal.ts';
import { type ChangeLimits, defaultChangeLimits } from './storage/recent-changes.ts';
import { Store, type StoreImage } from './storage/store.ts';
import { createStoreReader } from './storage/store-reader.ts';
import { ChangeEvents } from './verbs/read/change-events.ts';
import type { Machine } from './verbs/request.ts';

export interface ApiServerOptions {
  clock: Clock;
  random: Random;
  log: Log;
  /** Directory of state and certificates; without it everything is in memory only. */
  dataDir?: string;
  /** Whether to serve HTTPS; true by default. */
  listen?: boolean;
  host?: string;
  /** Further names and addresses that the serving certificate covers, for `listenAt`. */
  certificateHosts?: readonly string[];
  /** Default: 0 (any free port). */
  port?: number;
  /** Where to write the admin's kubeconfig. Needs HTTPS. */
  kubeconfigPath?: string;
  admission?: AdmissionOptions;
  /** Handlers of paths beyond Kubernetes' own, subject to RBAC. Needs HTTPS. */
  paths?: Readonly<Record<string, PathHandler>>;
  /** Of HTTPS: connections and watches. Local clients have none. */
  limits?: Partial<DoorLimits>;
  /** Which of the built-in kinds to serve; default: all. Stored objects of other kinds stay and count. */
  serves?: (kind: Kind) => boolean;
  /** Static bearer tokens. */
  staticTokens?: ReadonlyMap<string, User>;
  history?: Partial<ChangeLimits>;
  /** Starts from another server's state, which already has the bootstrap objects: none are created. */
  image?: StoreImage;
  /** Default: a new one, or the one in the data directory. */
  pki?: Pki;
  /**
   * Whether to record field ownership in `metadata.managedFields`; true by default. Only server-side apply and users
   * read it, and it is a good part of the cost of a write.
   */
  tracksFields?: boolean;
  /** Freezes every shared object, so that a component that mutates one fails at once. For tests. */
  freezeObjects?: boolean;
}

export interface ApiServer {
  /** Undefined without HTTPS. */
  readonly url: string | undefined;
  /** The Kubernetes port as this user, without HTTP. */
  client(user: User): KubeClient & Discovery;
  readonly adminUser: User;
  readonly pki: Pki;
  /** Committed state, for tests and checkers. */
  readonly reader: Reader;
  /** Committed state as it is now, to start other servers from. */
  image(): StoreImage;
  /** Serves HTTPS at another address, too, one of `certificateHosts`; resolves with the port. */
  listenAt(host: string): Promise<number>;
  /** Writes a kubeconfig for the user, and renews it before its certificate expires, until the server stops. */
  keepKubeconfig(path: string, user: User): Promise<void>;
  /** Ends watches, finishes requests in flight, and flushes all writes to disk. */
  stop(): Promise<void>;
}

/** The user for the server's own writes. */
const SYSTEM: User = { name: 'system:apiserver', groups: ['system:masters'] };

/** What stops the parts that have been started, in the order of their start. */
type Stops = (() => void | Promise<void>)[];

export async function createApiServer(options: ApiServerOptions): Promise<ApiServer> {
  const journal = await openJournal(options);
  const stops: Stops = [];
  try {
    return await assemble(options, journal, stops);
  } catch (error) {
    await stopAll(stops);
    await journal?.close();
    throw error;
  }
}

async function stopAll(stops: Stops): Promise<void> {
  for (const stop of stops.splice(0).reverse()) await stop();
}

async function openJournal({ dataDir }: ApiServerOptions): Promise<Journal | undefined> {
  if (dataDir === undefined) return undefined;
  const { openJournalThread } = await import('./storage/journal-thread.ts');
  return openJournalThread(dataDir);
}

async function assemble(
  options: ApiServerOptions,
  journal: Journal | undefined,
  stops: Stops,
): Promise<ApiServer> {
  const { clock, random, log, dataDir } = options;
  const stopping = new AbortController();
  const store = new Store({
    clock,
    log,
    history: { ...defaultChangeLimits, ...options.history },
    freeze: options.freezeObjects ?? false,
    ...(journal === undefined ? {} : { journal }),
    ...(options.image === undefined ? {} : { image: options.image }),
  });
  const reader = createStoreReader(store);
  const { serves } = options;
  const registry = createKindRegistry(serves ? builtinKinds.filter(serves) : builtinKinds);
  const pki =
    options.pki ??
    (await createPki({
      clock,
      ...(dataDir === undefined ? {} : { dir: join(dataDir, 'pki') }),
      hosts: [...(options.host === undefined ? [] : [options.host]), ...(options.certificateHosts ?? [])],
    }));
  const authorizer = createAuthorizer({ reader });
  const authenticator = createAuthenticator({
    pki,
    reader,
    clock,
    ...(options.staticTokens === undefined ? {} : { staticTokens: options.staticTokens }),
  });
  const admission = admissionPlugins({ reader, authorizer, options: options.admission ?? {} });
  const machine: Machine = {
    store,
    registry,
    authorizer,
    admission,
    events: new ChangeEvents(),
    clock,
    random,
    log,
    tracksFields: options.tracksFields ?? true,
    fieldSets: new FieldSets(),
    stopping: stopping.signal,
    virtual: createVirtualAnswers({ authorizer, authenticator, admission, pki, reader, clock, random }),
  };
  const isDone = options.image !== undefined;
  stops.push(followCustomResources(machine, reader, { isSettled: isDone }));
  const system = createLocalClient(machine, SYSTEM);
  stops.push(await bootstrapStore(system, reader, log, { isDone }));
  stops.push(await publishRootCa({ client: system, reader, caPem: pki.caPem, log, isDone }));
  stops.push(followEvents({ client: system, reader, clock, log }));
  stops.push(followRoleAggregation({ reader, client: system, log, isDone }));
  const door =
    options.listen === false ? undefined : await openDoor(options, machine, { pki, authenticator });
  stops.push(async () => door?.stop());
  const kubeconfigs = door && createKubeconfigKeeper({ server: door.url, pki, clock, log });
  stops.push(() => kubeconfigs?.stop());
  if (options.kubeconfigPath !== undefined) await kubeconfigs?.keep(options.kubeconfigPath, ADMIN);
  return {
    url: door?.url,
    client: (user) => createLocalClient(machine, user),
    adminUser: ADMIN,
    pki,
    reader,
    image: () => store.image(),
    async listenAt(host) {
      if (door === undefined) throw new Error(`a server that does not listen cannot listen at ${host}`);
      await door.alsoListen(host);
      return door.port;
    },
    async keepKubeconfig(path, user) {
      if (kubeconfigs === undefined) throw new Error(`${path} needs a server that listens`);
      await kubeconfigs.keep(path, user);
    },
    async stop() {
      if (stopping.signal.aborted) return;
      stopping.abort();
      await stopAll(stops);
      await store.close();
    },
  };
}

async function openDoor(
  options: ApiServerOptions,
  machine: Machine,
  parts: { pki: Pki; authenticator: ReturnType<typeof createAuthenticator> },
): Promise<HttpsDoor> {
  const { openHttpsDoor, defaultDoorLimits } = await import('./http/https-door.ts');
  const door: HttpsDoor = await openHttpsDoor({
    ...parts,
    machine,
    host: options.host ?? '127.0.0.1',
    port: options.port ?? 0,
    unready: () => machine.store.failure?.message,
    limits: { ...defaultDoorLimits, ...options.limits },
    paths: {
      ...options.paths,
      [NODE_CREDENTIALS_PATH]: nodeCredentialsPath(parts.pki),
      ...openIdPaths(parts.pki.serviceAccountKey, () => door.url),
    },
  });
  return door;
}
