import { isIPv6 } from 'node:net';

const MAPPED_IPV4 = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i;

/** Of the eight groups of an IPv6 address, those that name the network. */
const NETWORK_GROUPS = 4;

/**
 * What stands for one client where requests are counted by address: an IPv4 address, or the
 * /64 network of an IPv6 address, since a client has all of its 2^64 addresses at will.
 */
export function networkOf(address: string): string {
  const mapped = MAPPED_IPV4.exec(address)?.[1];
  if (mapped !== undefined) return mapped;
  if (!isIPv6(address)) return address;
  const [before = '', after = ''] = address.split('::');
  const leading = groupsOf(before);
  // An address with "::" has zeros in its place, as many as are missing.
  const zeros = address.includes('::') ? Array<string>(8 - leading.length - groupsOf(after).length).fill('0') : [];
  const groups = [...leading, ...zeros, ...groupsOf(after)].slice(0, NETWORK_GROUPS);
  return `${groups.map((group) => Number.parseInt(group, 16).toString(16)).join(':')}::/64`;
}

function groupsOf(text: string): string[] {
  if (text === '') return [];
  // A dotted quad at the end stands for two groups, which are never part of the network.
  return text.split(':').flatMap((group) => (group.includes('.') ? ['0', '0'] : [group]));
}
