// Turns a driver into the gRPC services of CSI. Every operation: checks of the request, locks, the driver's code, and
// the translation of its errors. Identity and the capability calls are answered here.

import {
  type CallContext,
  Controller,
  CsiError,
  GroupController,
  Identity,
  implement,
  Node,
  type ServiceImplementation,
  SnapshotMetadata,
} from '../csi/index.ts';
import { secretValue } from '../runtime/log/secret-value.ts';
import type { Log } from '../runtime/ports.ts';
import type { DescService, Message } from '../wire/protobuf/descriptor.ts';
import {
  controllerCapabilities,
  groupControllerCapabilities,
  nodeCapabilities,
  pluginServices,
  volumeExpansion,
} from './capabilities.ts';
import type { Driver, DriverCall } from './driver.ts';
import type { RequestFields } from './field-checks.ts';
import { type KeyLocks, keyLocks } from './key-locks.ts';
import { type OperationRule, operationRules } from './operation-rules.ts';
import { presentSystemError, refuse } from './refuse.ts';
import { responseLimits } from './response-limits.ts';

export interface DriverServicesOptions {
  log: Log;
  /**
   * Concurrent operations on the same volume: `abort` (the default) rejects the second with ABORTED, as the spec
   * proposes; `wait` queues it until its deadline.
   */
  whenBusy?: 'abort' | 'wait';
}

/** For `serveCsi`, or for a loopback transport in the same process. */
export function driverServices(driver: Driver, options: DriverServicesOptions): ServiceImplementation[] {
  const locks = keyLocks();
  const wrap = (operations: object | undefined, guard: (guarded: Guarded) => unknown = guarded) =>
    Object.fromEntries(
      Object.entries(operations ?? {})
        .filter(([, operation]) => typeof operation === 'function')
        .map(([name, operation]) => [
          name,
          guard({ driver, locks, options, name, operation, self: operations }),
        ]),
    );
  return [
    identity(driver),
    ...(driver.controller
      ? [
          service(Controller, {
            ...wrap(driver.controller),
            controllerGetCapabilities: () => ({
              capabilities: controllerCapabilities(driver).map(rpcCapability),
            }),
          }),
        ]
      : []),
    ...(driver.groupController
      ? [
          service(GroupController, {
            ...wrap(driver.groupController),
            groupControllerGetCapabilities: () => ({
              capabilities: groupControllerCapabilities(driver).map(rpcCapability),
            }),
          }),
        ]
      : []),
    ...(driver.snapshotMetadata
      ? [service(SnapshotMetadata, wrap(driver.snapshotMetadata, guardedStream))]
      : []),
    ...(driver.node
      ? [
          service(Node, {
            ...wrap(driver.node),
            nodeGetCapabilities: () => ({ capabilities: nodeCapabilities(driver).map(rpcCapability) }),
          }),
        ]
      : []),
  ];
}

/** Wrapping loses the handlers' static types; the driver's operations were checked where it was defined. */
function service(descriptor: DescService, handlers: Record<string, unknown>): ServiceImplementation {
  return { service: descriptor, handlers };
}

function rpcCapability<T>(type: T) {
  return { type: { case: 'rpc' as const, value: { type } } };
}

function identity(driver: Driver): ServiceImplementation {
  return implement(Identity, {
    getPluginInfo: () => ({
      name: driver.name,
      vendorVersion: driver.version,
      manifest: { ...driver.manifest },
    }),
    getPluginCapabilities: () => {
      const expansion = volumeExpansion(driver);
      return {
        capabilities: [
          ...pluginServices(driver).map((type) => ({ type: { case: 'service' as const, value: { type } } })),
          ...(expansion === undefined
            ? []
            : [{ type: { case: 'volumeExpansion' as const, value: { type: expansion } } }]),
        ],
      };
    },
    probe: async () => {
      try {
        return { ready: (await driver.probe?.()) ?? true };
      } catch (error) {
        if (error instanceof CsiError) throw error;
        throw refuse.failedPrecondition(`the driver is not healthy: ${(error as Error).message}`, error);
      }
    },
  });
}

interface Guarded {
  driver: Driver;
  locks: KeyLocks;
  options: DriverServicesOptions;
  name: string;
  operation: unknown;
  self: unknown;
}

type AnyOperation = (request: object, call: DriverCall) => unknown;

function guarded({ driver, locks, options, name, operation, self }: Guarded) {
  const rule: OperationRule = operationRules[name] ?? { checks: [] };
  const log = options.log.with({ method: name });
  return async (request: Message, context: CallContext) => {
    const fields = checkedFields(request, { name, rule, driver });
    const release = await take(rule.locks?.(fields) ?? [], { locks, options, context });
    try {
      const call = new OperationCall(context, log);
      const response = await (operation as AnyOperation).call(self, withHiddenSecrets(fields), call);
      const limit = responseLimits[name];
      return limit === undefined
        ? response
        : limit(driver, response as Record<string, unknown>, { ...fields });
    } catch (error) {
      throw presentSystemError(error, name);
    } finally {
      release();
    }
  };
}

/** Streams only read, and take no locks: one lasts as long as its reader wants. */
function guardedStream({ driver, options, name, operation, self }: Guarded) {
  const rule: OperationRule = operationRules[name] ?? { checks: [] };
  const log = options.log.with({ method: name });
  return async function* (request: Message, context: CallContext) {
    const fields = checkedFields(request, { name, rule, driver });
    try {
      const call = new OperationCall(context, log);
      yield* (operation as AnyOperation).call(
        self,
        withHiddenSecrets(fields),
        call,
      ) as AsyncIterable<unknown>;
    } catch (error) {
      throw presentSystemError(error, name);
    }
  };
}

function checkedFields(
  request: Message,
  { name, rule, driver }: { name: string; rule: OperationRule; driver: Driver },
): RequestFields {
  const fields = request as unknown as RequestFields;
  for (const check of rule.checks) {
    const problem = check(fields, driver);
    if (problem instanceof CsiError) throw problem;
    if (problem !== undefined) throw refuse.invalidArgument(`${name}: ${problem}`);
  }
  return fields;
}

const withHiddenSecrets = (fields: RequestFields): RequestFields =>
  'secrets' in fields ? { ...fields, secrets: secretValue(fields.secrets) } : fields;

class OperationCall implements DriverCall {
  readonly #context: CallContext;
  readonly log: Log;

  constructor(context: CallContext, log: Log) {
    this.#context = context;
    this.log = log;
  }

  /** Created on first use: a signal costs something, and most operations never read theirs. */
  get signal(): AbortSignal {
    return this.#context.signal;
  }

  get deadline(): number | undefined {
    return this.#context.deadline;
  }
}

async function take(
  keys: string[],
  { locks, options, context }: { locks: KeyLocks; options: DriverServicesOptions; context: CallContext },
): Promise<() => void> {
  if (options.whenBusy === 'wait') {
    const releases: (() => void)[] = [];
    for (const key of keys.toSorted()) releases.push(await locks.lock(key, context.signal));
    return () => {
      for (const release of releases) release();
    };
  }
  const taken = locks.tryLock(keys);
  if ('busy' in taken)
    throw refuse.aborted(`another operation on ${taken.busy} is in flight; retry when it has ended`);
  return taken.release;
}
