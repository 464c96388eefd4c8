// The TLS flags of the official sidecar, with Go's names of versions, cipher suites and curves, and what they are in Node.

import type { TlsSettings } from '../../csi/server/watch-certificate.ts';
import { flagOf, InvalidValue, stringFlag } from '../../runtime/flags/flag.ts';

const group = 'TLS';

const versions: Readonly<Record<string, string>> = { VersionTLS12: 'TLSv1.2', VersionTLS13: 'TLSv1.3' };

/** The suites of TLS 1.3 are always on, here as in Go. */
const suites: Readonly<Record<string, string>> = {
  TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256: 'ECDHE-ECDSA-AES128-GCM-SHA256',
  TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256: 'ECDHE-RSA-AES128-GCM-SHA256',
  TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384: 'ECDHE-ECDSA-AES256-GCM-SHA384',
  TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384: 'ECDHE-RSA-AES256-GCM-SHA384',
  TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256: 'ECDHE-ECDSA-CHACHA20-POLY1305',
  TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256: 'ECDHE-RSA-CHACHA20-POLY1305',
  TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA: 'ECDHE-ECDSA-AES128-SHA',
  TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA: 'ECDHE-RSA-AES128-SHA',
  TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA: 'ECDHE-ECDSA-AES256-SHA',
  TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA: 'ECDHE-RSA-AES256-SHA',
  TLS_AES_128_GCM_SHA256: 'TLS_AES_128_GCM_SHA256',
  TLS_AES_256_GCM_SHA384: 'TLS_AES_256_GCM_SHA384',
  TLS_CHACHA20_POLY1305_SHA256: 'TLS_CHACHA20_POLY1305_SHA256',
};

const curves: Readonly<Record<string, string>> = {
  X25519: 'X25519',
  CurveP256: 'P-256',
  CurveP384: 'P-384',
  CurveP521: 'P-521',
  X25519MLKEM768: 'X25519MLKEM768',
};

/** The value is the list of Node's names; empty for the default. */
const namesFlag = (known: Readonly<Record<string, string>>, help: string) =>
  flagOf<readonly string[]>(
    {
      type: 'strings',
      parse: (text) =>
        text
          .split(',')
          .map((name) => name.trim())
          .filter((name) => name !== '')
          .map((name) => {
            if (!Object.hasOwn(known, name)) {
              throw new InvalidValue(`"${name}" is not supported, only ${Object.keys(known).join(', ')}`);
            }
            return known[name] as string;
          }),
      format: (value) => value.join(','),
    },
    { help, default: [], group },
  );

export const tlsFlags = {
  'tls-cert': stringFlag({
    help: 'File with the TLS certificate, in PEM; read again when it changes',
    default: '',
    env: 'TLS_CERT_PATH',
    group,
  }),
  'tls-key': stringFlag({
    help: 'File with the private key of --tls-cert',
    default: '',
    env: 'TLS_KEY_PATH',
    group,
  }),
  'tls-min-version': namesFlag(versions, 'Oldest version of TLS: VersionTLS12 or VersionTLS13'),
  'tls-cipher-suites': namesFlag(
    suites,
    "Cipher suites of TLS 1.2, by Go's names; Node's default unless given",
  ),
  'tls-curve-preferences': namesFlag(curves, 'Curves for the key exchange, as X25519,CurveP256'),
};

export function tlsSettings(flags: {
  tlsMinVersion: readonly string[];
  tlsCipherSuites: readonly string[];
  tlsCurvePreferences: readonly string[];
}): TlsSettings {
  const { tlsMinVersion, tlsCipherSuites, tlsCurvePreferences } = flags;
  return {
    minVersion: tlsMinVersion[0] === 'TLSv1.3' ? 'TLSv1.3' : 'TLSv1.2',
    ...(tlsCipherSuites.length > 0 && { ciphers: tlsCipherSuites.join(':') }),
    ...(tlsCurvePreferences.length > 0 && { ecdhCurve: tlsCurvePreferences.join(':') }),
  };
}
