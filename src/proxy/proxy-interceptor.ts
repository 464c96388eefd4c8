// The one hook of the proxy: what recording and faults see of a forwarded call, and how they change it.

import type { DescMethod, Message } from '../wire/protobuf/descriptor.ts';

/** A call on its way to the driver. Nothing is decoded unless it is asked for. */
export interface ProxiedCall {
  /** `/csi.v1.Controller/CreateVolume` */
  readonly path: string;
  /** Undefined for a method that is not of CSI. */
  readonly method: DescMethod | undefined;
  /** Decoded at the first use. Undefined for an unknown method, a compressed request and one that cannot be read. */
  readonly request: Message | undefined;
  /** Length of the request on the wire, to decide whether it is worth decoding. 0 if it is passed on as it comes. */
  readonly requestBytes: number;
  readonly caller: ProxyCaller;
  /** Aborts when the caller gives up, which includes the end of its deadline. */
  readonly signal: AbortSignal;
  /** Closes the caller's connection, with all of its calls, as the end of either process would. */
  disconnect(): void;
}

/** Who calls, as far as a unix socket tells. */
export interface ProxyCaller {
  /** Connections to the proxy are counted from 1. */
  readonly connection: number;
  /** The caller's `user-agent`, such as `grpc-go/1.72.1`; empty if it sends none. */
  readonly agent: string;
}

/** How the driver's answer ended. */
export interface ProxiedAnswer {
  /** gRPC's number; 0 is OK. */
  readonly code: number;
  readonly text: string;
  /** Serialized `google.rpc.Status`. */
  readonly details: Uint8Array | undefined;
  /** The driver did not send this status: the call was lost on the way, or given up. The driver may have acted. */
  readonly isLost: boolean;
  /** Decoded at the first use. Empty for an answer that was passed on as it came, or that cannot be read. */
  readonly messages: readonly Message[];
  /** Length of the messages on the wire; absent in an answer that an interceptor made. */
  readonly bytes?: number;
}

/**
 * Runs around a forwarded call. `next` sends the request to the driver, or to the interceptor inside this one; each
 * further call of `next` sends it once more. The caller gets the answer that is returned, or the status of a CsiError that is
 * thrown. Whoever wants the caller to get no answer at all waits until `call.signal` aborts.
 *
 * The answer of a unary CSI method is held until all interceptors have returned. Other answers (streams, unknown methods)
 * are passed on as they come: there `next` can be called once, and only the status at the end can be replaced.
 */
export type ProxyInterceptor = (
  call: ProxiedCall,
  next: () => Promise<ProxiedAnswer>,
) => Promise<ProxiedAnswer>;
