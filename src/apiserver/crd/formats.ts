// The string formats of schemas. An unknown format is accepted, as in Kubernetes.

import { isIPv4, isIPv6 } from 'node:net';
import { getOwn } from '../../api/own-property.ts';
import { isQuantity } from '../../api/quantity.ts';

const UUID = /^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i;
const DATE = /^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])$/;
const DATE_TIME =
  /^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])[Tt ]([01]\d|2[0-3]):[0-5]\d:([0-5]\d|60)(\.\d+)?([Zz]|[+-]\d{2}:\d{2})$/;
const DURATION = /^[+-]?((\d+(\.\d*)?|\.\d+)(ns|us|µs|ms|s|m|h|d|w))+$/;

const FORMATS: Readonly<Record<string, (text: string) => boolean>> = {
  byte: (text) => /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(text),
  date: (text) => DATE.test(text),
  'date-time': (text) => DATE_TIME.test(text),
  duration: (text) => DURATION.test(text),
  email: (text) => /^[^\s@]+@[^\s@]+$/.test(text),
  hostname: (text) => text.length <= 253 && /^[A-Za-z0-9]([-A-Za-z0-9.]*[A-Za-z0-9])?$/.test(text),
  ipv4: (text) => isIPv4(text),
  ipv6: (text) => isIPv6(text),
  cidr: (text) => {
    const [address = '', bits = ''] = text.split('/');
    const max = isIPv4(address) ? 32 : isIPv6(address) ? 128 : -1;
    return /^\d{1,3}$/.test(bits) && Number(bits) <= max;
  },
  mac: (text) => /^([0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}$/.test(text),
  quantity: (text) => isQuantity(text),
  uri: (text) => URL.canParse(text),
  uuid: (text) => UUID.test(text),
};

export function formatProblem(format: string, text: string): boolean {
  const holds = getOwn(FORMATS, format);
  return holds !== undefined && !holds(text);
}
