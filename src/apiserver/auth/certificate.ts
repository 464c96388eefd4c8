// Issues X.509 certificates in the one profile that Berth needs: version 3, ECDSA P-256 with SHA-256. node:crypto
// cannot issue certificates, and certificate libraries take longer to load than the whole server may take to start.

import { createHash, createPublicKey, type KeyObject, sign } from 'node:crypto';
import { isIPv4, isIPv6 } from 'node:net';
import * as der from './der.ts';

export interface CertificateRequest {
  commonName: string;
  organizations?: readonly string[];
  publicKey: KeyObject;
  notBeforeMs: number;
  notAfterMs: number;
  purpose: 'ca' | 'server' | 'client';
  /** DNS names and IP addresses, for servers. */
  hosts?: readonly string[];
}

export interface Issuer {
  commonName: string;
  privateKey: KeyObject;
}

const ECDSA_WITH_SHA256 = der.sequence(der.objectIdentifier('1.2.840.10045.4.3.2'));
const COMMON_NAME = '2.5.4.3';
const ORGANIZATION = '2.5.4.10';
const EXTENDED_USAGE = { server: '1.3.6.1.5.5.7.3.1', client: '1.3.6.1.5.5.7.3.2' };

function distinguishedName(commonName: string, organizations: readonly string[] = []): der.Der {
  const attribute = (type: string, value: string) =>
    der.set(der.sequence(der.objectIdentifier(type), der.utf8String(value)));
  return der.sequence(
    ...organizations.map((organization) => attribute(ORGANIZATION, organization)),
    attribute(COMMON_NAME, commonName),
  );
}

function addressBytes(host: string): Uint8Array {
  if (isIPv4(host)) return Uint8Array.from(host.split('.').map(Number));
  const [head = '', tail] = host.split('::');
  const groups = (text: string) => (text === '' ? [] : text.split(':').map((group) => parseInt(group, 16)));
  const before = groups(head);
  const after = tail === undefined ? [] : groups(tail);
  const all = [...before, ...new Array<number>(8 - before.length - after.length).fill(0), ...after];
  return Uint8Array.from(all.flatMap((group) => [group >> 8, group & 0xff]));
}

function alternativeName(host: string): der.Der {
  return isIPv4(host) || isIPv6(host)
    ? der.implicit(7, addressBytes(host))
    : der.implicit(2, Buffer.from(host, 'ascii'));
}

function extensions(request: CertificateRequest, issuerKeyId: Uint8Array, keyId: Uint8Array): der.Der {
  const extension = (oid: string, critical: boolean, value: der.Der) =>
    der.sequence(der.objectIdentifier(oid), ...(critical ? [der.boolean(true)] : []), der.octetString(value));
  const isCa = request.purpose === 'ca';
  const list = [
    extension('2.5.29.19', true, der.sequence(...(isCa ? [der.boolean(true)] : []))),
    // keyCertSign and cRLSign for the CA, digitalSignature for everyone else.
    extension(
      '2.5.29.15',
      true,
      isCa ? der.bitString(Uint8Array.of(0x06), 1) : der.bitString(Uint8Array.of(0x80), 7),
    ),
    extension('2.5.29.14', false, der.octetString(keyId)),
    extension('2.5.29.35', false, der.sequence(der.implicit(0, issuerKeyId))),
  ];
  if (request.purpose !== 'ca') {
    const usage = der.objectIdentifier(EXTENDED_USAGE[request.purpose]);
    list.push(extension('2.5.29.37', false, der.sequence(usage)));
  }
  if (request.hosts?.length) {
    list.push(extension('2.5.29.17', false, der.sequence(...request.hosts.map(alternativeName))));
  }
  return der.explicit(3, der.sequence(...list));
}

const spkiOf = (key: KeyObject): Buffer => key.export({ type: 'spki', format: 'der' });
const keyIdOf = (key: KeyObject): Buffer => createHash('sha256').update(spkiOf(key)).digest().subarray(0, 20);

/** The certificate as PEM. Its serial number is derived from key and dates, so it is unique. */
export function issueCertificate(request: CertificateRequest, issuer: Issuer): string {
  const spki = spkiOf(request.publicKey);
  const serial = createHash('sha256')
    .update(spki)
    .update(`${request.commonName} ${request.notBeforeMs} ${request.notAfterMs}`)
    .digest()
    .subarray(0, 16);
  const body = der.sequence(
    der.explicit(0, der.integer(Uint8Array.of(2))),
    der.integer(serial),
    ECDSA_WITH_SHA256,
    distinguishedName(issuer.commonName),
    der.sequence(der.time(request.notBeforeMs), der.time(request.notAfterMs)),
    distinguishedName(request.commonName, request.organizations),
    spki,
    extensions(request, keyIdOf(createPublicKey(issuer.privateKey)), keyIdOf(request.publicKey)),
  );
  const signature = sign('sha256', body, issuer.privateKey);
  const certificate = der.sequence(body, ECDSA_WITH_SHA256, der.bitString(signature));
  const base64 = Buffer.from(certificate)
    .toString('base64')
    .replace(/.{64}(?=.)/g, '$&\n');
  return `-----BEGIN CERTIFICATE-----\n${base64}\n-----END CERTIFICATE-----\n`;
}
