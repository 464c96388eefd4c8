// `GET /berth/node-credentials?name=NODE`: a new client certificate for a kubelet, with the rights of that node and nothing
// more. Only administrators may get this path.

import { dns1123SubdomainProblems } from '../../api/names.ts';
import type { PathHandler } from '../../runtime/process/path-handler.ts';
import type { Pki } from '../auth/pki.ts';
import { GROUP_NODES, nodeUser } from '../auth/users.ts';

export const NODE_CREDENTIALS_PATH = '/berth/node-credentials';

/** The answer, as JSON on one line. */
export interface NodeCredentials {
  user: string;
  keyPem: string;
  certificatePem: string;
  caPem: string;
}

export function nodeCredentialsPath(pki: Pki): PathHandler {
  return async ({ query, response }) => {
    const name = query.get('name') ?? '';
    const [problem] = dns1123SubdomainProblems(name);
    if (problem !== undefined) {
      response.writeHead(400, { 'Content-Type': 'text/plain; charset=utf-8' });
      response.end(`${JSON.stringify(name)} is not a valid node name: ${problem}\n`);
      return;
    }
    const user = nodeUser(name).name;
    const issued = pki.issueClientCertificate({ commonName: user, organizations: [GROUP_NODES] });
    const answer: NodeCredentials = { user, caPem: pki.caPem, ...issued };
    response.writeHead(200, { 'Content-Type': 'application/json', 'Cache-Control': 'no-store' });
    response.end(`${JSON.stringify(answer)}\n`);
  };
}
