// Service account tokens for drivers that request them (`CSIDriver.spec.tokenRequests`): bound to the pod, cached until
// a fifth of their lifetime is left, never logged.

import type { CSIDriver, Pod } from '../../api/kinds.ts';
import { serviceAccounts } from '../../api/kinds.ts';
import type { KubeClient } from '../../runtime/kube/kube.ts';
import { secretValue } from '../../runtime/log/secret-value.ts';
import type { Clock, SecretValue } from '../../runtime/ports.ts';

interface TokenRequestStatus {
  token: string;
  expirationTimestamp: string;
}

interface Kept {
  podUid: string;
  status: SecretValue<TokenRequestStatus>;
  renewAtMs: number;
}

export interface ServiceAccountTokens {
  /** As the value of `csi.storage.k8s.io/serviceAccount.tokens`; undefined when the driver requests none. */
  forPod(
    pod: Pod,
    driver: CSIDriver | undefined,
    signal: AbortSignal,
  ): Promise<SecretValue<string> | undefined>;
  forget(podUid: string): void;
}

export function createServiceAccountTokens(ports: {
  kube: Pick<KubeClient, 'createSubresource'>;
  clock: Pick<Clock, 'now'>;
}): ServiceAccountTokens {
  const { kube, clock } = ports;
  const kept = new Map<string, Kept>();

  async function request(
    pod: Pod,
    audience: string,
    expirationSeconds: number | undefined,
    signal: AbortSignal,
  ): Promise<SecretValue<TokenRequestStatus>> {
    const { name: podName, namespace, uid: podUid } = pod.metadata;
    const account = pod.spec.serviceAccountName || 'default';
    const key = JSON.stringify([podUid, account, audience, expirationSeconds ?? 0]);
    const known = kept.get(key);
    if (known && clock.now() < known.renewAtMs) return known.status;
    const answer = await kube.createSubresource<{ status: TokenRequestStatus }>(
      serviceAccounts,
      { name: account, ...(namespace !== undefined && { namespace }) },
      'token',
      {
        apiVersion: 'authentication.k8s.io/v1',
        kind: 'TokenRequest',
        spec: {
          audiences: audience === '' ? [] : [audience],
          ...(expirationSeconds !== undefined && { expirationSeconds }),
          boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name: podName, uid: podUid },
        },
      },
      { signal },
    );
    const { token, expirationTimestamp } = answer.status;
    const lifeMs = Date.parse(expirationTimestamp) - clock.now();
    const status = secretValue({ token, expirationTimestamp });
    kept.set(key, { podUid, status, renewAtMs: clock.now() + lifeMs * 0.8 });
    return status;
  }

  return {
    async forPod(pod, driver, signal) {
      const wanted = driver?.spec.tokenRequests ?? [];
      if (wanted.length === 0) return undefined;
      const tokens: Record<string, TokenRequestStatus> = {};
      for (const { audience, expirationSeconds } of wanted) {
        tokens[audience] = (await request(pod, audience, expirationSeconds, signal)).reveal();
      }
      return secretValue(JSON.stringify(tokens));
    },
    forget(podUid) {
      for (const [key, entry] of kept) if (entry.podUid === podUid) kept.delete(key);
    },
  };
}
