// An API server behind its HTTPS door, and an administrator's way to send it anything: any body under any media type.

import type { TestContext } from 'node:test';
import type { ApiServer, ApiServerOptions } from '../../src/apiserver/api-server.ts';
import { testServer } from '../../src/apiserver/testing/test-server.ts';
import { createHttpTransport, type HttpRequest } from '../../src/runtime/kube/http-transport.ts';

export interface Answer {
  readonly code: number;
  // biome-ignore lint/suspicious/noExplicitAny: whatever the server answers, a test looks into it.
  readonly body: any;
  /** The message of a Status. */
  readonly message: string;
}

export interface AdminDoor {
  readonly server: ApiServer;
  call(
    method: HttpRequest['method'],
    path: string,
    body?: unknown,
    mediaType?: string,
    headers?: Record<string, string>,
  ): Promise<Answer>;
}

export const JSON_PATCH = 'application/json-patch+json';
export const MERGE_PATCH = 'application/merge-patch+json';
export const STRATEGIC_PATCH = 'application/strategic-merge-patch+json';
export const APPLY_PATCH = 'application/apply-patch+yaml';
export const MAPS = '/api/v1/namespaces/default/configmaps';

/** Closed when the test ends. A body that is text is sent as it is. */
export async function openAdminDoor(
  t: Pick<TestContext, 'after'>,
  options: Pick<ApiServerOptions, 'dataDir' | 'kubeconfigPath'> = {},
): Promise<AdminDoor> {
  const server = await testServer(t, { listen: true, ...options });
  const url = server.url as string;
  const { keyPem, certificatePem } = server.pki.issueClientCertificate({
    commonName: server.adminUser.name,
    organizations: ['system:masters'],
  });
  const tls = { ca: server.pki.caPem, cert: certificatePem, key: keyPem };
  const transport = createHttpTransport({ origin: new URL(url).origin, tls: { insecureSkipVerify: false } });
  t.after(() => transport.close());
  return {
    server,
    async call(method, path, body, mediaType = 'application/json', headers = {}) {
      const { status, body: bytes } = await transport.request({
        method,
        path,
        tls,
        headers: { ...headers, ...(body !== undefined && { 'content-type': mediaType }) },
        ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      });
      const text = bytes.toString();
      const parsed = text.startsWith('{') ? JSON.parse(text) : text;
      return { code: status, body: parsed, message: parsed.message ?? '' };
    },
  };
}

export function configMap(name: string, data: Record<string, string> = {}): object {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data };
}
