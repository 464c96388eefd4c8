import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FlagError, parseFlags } from '../../runtime/flags/parse-flags.ts';
import { snapshotMetadataSidecar } from './snapshot-metadata-sidecar.ts';
import { tlsFlags, tlsSettings } from './tls-flags.ts';

const settings = (...argv: string[]) => tlsSettings(parseFlags({ table: tlsFlags, argv }).values);

const cases: { argv: string[]; then: object }[] = [
  { argv: [], then: { minVersion: 'TLSv1.2' } },
  { argv: ['--tls-min-version=VersionTLS12'], then: { minVersion: 'TLSv1.2' } },
  { argv: ['--tls-min-version=VersionTLS13'], then: { minVersion: 'TLSv1.3' } },
  {
    argv: [
      '--tls-cipher-suites=TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, ,TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384',
    ],
    then: { minVersion: 'TLSv1.2', ciphers: 'ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384' },
  },
  {
    argv: ['--tls-curve-preferences=X25519,CurveP256'],
    then: { minVersion: 'TLSv1.2', ecdhCurve: 'X25519:P-256' },
  },
];
for (const { argv, then } of cases) {
  test(`[CBT-1] TLS with ${argv.join(' ') || 'no flags'}`, () => assert.deepEqual(settings(...argv), then));
}

test('[CBT-1] names of TLS that are not known are refused with those that are', () => {
  assert.throws(() => settings('--tls-min-version=VersionTLS10'), FlagError);
  assert.throws(() => settings('--tls-curve-preferences=toString'), /only X25519, CurveP256/);
});

const { values } = parseFlags({ table: snapshotMetadataSidecar.flags, argv: [] });
const files = { tlsCert: '/crt', tlsKey: '/key', tlsCa: '', serviceAddress: '' };
/** Beside a driver without the service: started with all it needs, that is what it complains about. */
const driver = { name: 'd.example', plugin: { services: new Set() } };
const start = (change: Partial<typeof files>) =>
  snapshotMetadataSidecar.create({ driver } as never, { ...values, ...files, ...change } as never);

test('[CBT-1] what the service cannot be served or published without is asked for', () => {
  const tls = /--tls-cert and --tls-key are needed/;
  assert.throws(() => start({ tlsCert: '' }), tls);
  assert.throws(() => start({ tlsKey: '' }), tls);
  assert.throws(() => start({ serviceAddress: 'here' }), /--service-address needs --tls-ca/);
  const nothingElse = /does not have the capability/;
  assert.throws(() => start({ serviceAddress: 'here', tlsCa: '/ca' }), nothingElse);
  assert.throws(() => start({}), nothingElse);
});
