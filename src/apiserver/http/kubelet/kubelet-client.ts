// Requests to kubelets, under a certificate of this server's CA for a user that may do nothing but use kubelets. The
// kubelet's own certificate is not verified, as with a kube-apiserver that has no --kubelet-certificate-authority: a kubelet
// signs its own.

import type { ClientRequest, IncomingHttpHeaders } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { Clock } from '../../../runtime/ports.ts';
import { CLIENT_DAYS, DAY_MS, type KeyAndCertificate, type Pki, RENEW_DAYS } from '../../auth/pki.ts';
import { KUBELET_CLIENT } from '../../auth/users.ts';
import type { KubeletAddress } from './kubelet-address.ts';

export interface KubeletRequest {
  readonly to: KubeletAddress;
  readonly method: string;
  /** With query. */
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
}

export type KubeletClient = (asked: KubeletRequest) => ClientRequest;

export function createKubeletClient({ pki, clock }: { pki: Pki; clock: Clock }): KubeletClient {
  let issued: (KeyAndCertificate & { renewAtMs: number }) | undefined;
  const credentials = (): KeyAndCertificate => {
    if (issued === undefined || clock.now() >= issued.renewAtMs) {
      const renewAtMs = clock.now() + (CLIENT_DAYS - RENEW_DAYS) * DAY_MS;
      issued = { ...pki.issueClientCertificate({ commonName: KUBELET_CLIENT.name }), renewAtMs };
    }
    return issued;
  };
  return ({ to, method, path, headers }) => {
    const { keyPem: key, certificatePem: cert } = credentials();
    return httpsRequest({
      host: to.host,
      port: to.port,
      method,
      path,
      headers,
      key,
      cert,
      rejectUnauthorized: false,
      // A connection each: streams last, and an upgraded connection is never given back.
      agent: false,
    });
  };
}
