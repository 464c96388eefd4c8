// The embedded API server's certificate authority, its serving certificate, client certificates, and the key that signs
// service account tokens. Stored in one directory (0700, files 0600) and reused across restarts; without a directory
// everything is in memory. An invalid file is an error, and never replaced.

import {
  createPrivateKey,
  createPublicKey,
  generateKeyPair,
  generateKeyPairSync,
  type KeyObject,
  X509Certificate,
} from 'node:crypto';
import { isIP } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Clock } from '../../runtime/ports.ts';
import { issueCertificate } from './certificate.ts';
import { makePrivateDirectory, readOptionalFile, writePrivateFile } from './private-file.ts';
import { createTokenSigner, type TokenSigner } from './token-signer.ts';

export interface KeyAndCertificate {
  keyPem: string;
  certificatePem: string;
}

export interface Pki {
  readonly caPem: string;
  /**
   * The serving certificate. The file is read again at each call, and the certificate renewed close to its expiry: call
   * it periodically.
   */
  serving(): Promise<KeyAndCertificate>;
  issueClientCertificate(request: {
    commonName: string;
    organizations?: readonly string[];
    days?: number;
  }): KeyAndCertificate;
  readonly serviceAccountKey: TokenSigner;
}

const CA_NAME = 'berth-ca';
const SERVING_HOSTS = [
  'localhost',
  '127.0.0.1',
  '::1',
  'kubernetes',
  'kubernetes.default',
  'kubernetes.default.svc',
];
export const DAY_MS = 86_400_000;
const CA_DAYS = 3650;
const SERVING_DAYS = 365;
export const CLIENT_DAYS = 365;
/** The CA is renewed with this much left: longer than the lifetime of what it signs. */
const CA_RENEW_DAYS = 400;
/** Long enough for clients that read the file once a week. */
export const RENEW_DAYS = 30;
/** Tolerates clients whose clock is behind. */
const BACKDATE_MS = 3_600_000;

const generateKeyPairAsync = promisify(generateKeyPair);
const newKey = async (): Promise<KeyObject> =>
  (await generateKeyPairAsync('ec', { namedCurve: 'P-256' })).privateKey;
const keyPemOf = (key: KeyObject): string => key.export({ type: 'pkcs8', format: 'pem' }).toString();

interface Entry {
  key: KeyObject;
  certificatePem: string;
  expiresMs: number;
}

function parsePem(
  path: string,
  pem: string,
  withCertificate: boolean,
): { key: KeyObject; certificatePem: string } {
  try {
    const key = createPrivateKey(pem);
    if (!withCertificate) return { key, certificatePem: '' };
    const start = pem.indexOf('-----BEGIN CERTIFICATE-----');
    if (start < 0) throw new Error('it holds no certificate');
    const certificatePem = pem.slice(start);
    if (!new X509Certificate(certificatePem).checkPrivateKey(key))
      throw new Error('its key and certificate differ');
    return { key, certificatePem };
  } catch (error) {
    const detail = error instanceof Error ? error.message : String(error);
    throw new Error(
      `cannot use ${path}: ${detail}. It was left as it is; move it away to have a new one made (clients then need a new kubeconfig).`,
      { cause: error },
    );
  }
}

const validToMs = (certificatePem: string): number => Date.parse(new X509Certificate(certificatePem).validTo);

/** `dir` is created when missing; the certificate covers `hosts` besides the loopback names. */
export async function createPki(options: {
  dir?: string;
  clock: Clock;
  hosts?: readonly string[];
}): Promise<Pki> {
  const { dir, clock } = options;
  const hosts = [...new Set([...SERVING_HOSTS, ...(options.hosts ?? [])])];
  if (dir !== undefined) await makePrivateDirectory(dir);
  const fileOf = (name: string) => (dir === undefined ? undefined : join(dir, `${name}.pem`));
  const read = async (name: string, withCertificate: boolean) => {
    const path = fileOf(name);
    const pem = path === undefined ? undefined : await readOptionalFile(path);
    return path === undefined || pem === undefined ? undefined : parsePem(path, pem, withCertificate);
  };
  const write = async (name: string, key: KeyObject, certificatePem: string) => {
    const path = fileOf(name);
    if (path !== undefined) await writePrivateFile(path, keyPemOf(key) + certificatePem);
  };
  const needsRenewal = (expiresMs: number, days: number) => expiresMs - clock.now() < days * DAY_MS;

  const [storedCa, storedServing, storedTokenKey] = await Promise.all([
    read('ca', true),
    read('serving', true),
    read('service-accounts', false),
  ]);
  const [caKey, servingKey, tokenKey] = await Promise.all([
    storedCa?.key ?? newKey(),
    storedServing?.key ?? newKey(),
    storedTokenKey?.key ?? newKey(),
  ]);

  const issue = (
    key: KeyObject,
    request: { commonName: string; days: number; purpose: 'ca' | 'server' | 'client' } & {
      organizations?: readonly string[];
      hosts?: readonly string[];
    },
  ): Entry => {
    const { days, ...rest } = request;
    const now = clock.now();
    const expiresMs = now + days * DAY_MS;
    const certificatePem = issueCertificate(
      { ...rest, publicKey: createPublicKey(key), notBeforeMs: now - BACKDATE_MS, notAfterMs: expiresMs },
      { commonName: CA_NAME, privateKey: caKey },
    );
    return { key, certificatePem, expiresMs };
  };

  // A renewed CA keeps its key: issued certificates and kubeconfigs stay valid.
  const keptCa = storedCa && !needsRenewal(validToMs(storedCa.certificatePem), CA_RENEW_DAYS);
  const caPem = keptCa
    ? storedCa.certificatePem
    : issue(caKey, { commonName: CA_NAME, days: CA_DAYS, purpose: 'ca' }).certificatePem;

  const issueServing = (key: KeyObject): Entry =>
    issue(key, {
      commonName: 'berth-apiserver',
      days: SERVING_DAYS,
      purpose: 'server',
      hosts,
    });
  const stillServes = (pem: string): boolean => {
    const certificate = new X509Certificate(pem);
    const covers = (host: string) =>
      (isIP(host) ? certificate.checkIP(host) : certificate.checkHost(host)) !== undefined;
    return (
      certificate.verify(createPublicKey(caKey)) &&
      hosts.every(covers) &&
      !needsRenewal(validToMs(pem), RENEW_DAYS)
    );
  };
  const keptServing = storedServing && stillServes(storedServing.certificatePem);
  let serving: Entry = keptServing
    ? { ...storedServing, expiresMs: validToMs(storedServing.certificatePem) }
    : issueServing(servingKey);
  // Concurrently, since each waits for the disk: what a crash leaves of the three is consistent or is issued again.
  await Promise.all([
    keptCa ? undefined : write('ca', caKey, caPem),
    keptServing ? undefined : write('serving', serving.key, serving.certificatePem),
    storedTokenKey ? undefined : write('service-accounts', tokenKey, ''),
  ]);

  return {
    caPem,
    serviceAccountKey: createTokenSigner(tokenKey),
    async serving() {
      const stored = await read('serving', true);
      if (stored && stored.certificatePem !== serving.certificatePem && stillServes(stored.certificatePem)) {
        serving = { ...stored, expiresMs: validToMs(stored.certificatePem) };
      }
      if (needsRenewal(serving.expiresMs, RENEW_DAYS)) {
        serving = issueServing(serving.key);
        await write('serving', serving.key, serving.certificatePem);
      }
      return { keyPem: keyPemOf(serving.key), certificatePem: serving.certificatePem };
    },
    issueClientCertificate({ commonName, organizations = [], days = CLIENT_DAYS }) {
      const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
      const entry = issue(privateKey, { commonName, organizations, days, purpose: 'client' });
      return { keyPem: keyPemOf(privateKey), certificatePem: entry.certificatePem };
    },
  };
}
