import { isIPv6 } from 'node:net';

const MAPPED_IPV4 = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i;

/** The first four of an IPv6 address's eight groups are the network prefix. */
const NETWORK_GROUPS = 4;

/**
 * The key under which a client's requests are counted: an IPv4 address, or the /64 network of an IPv6 address, because
 * one client can use any of a /64's 2^64 addresses.
 */
export function networkOf(address: string): string {
  const mapped = MAPPED_IPV4.exec(address)?.[1];
  if (mapped !== undefined) return mapped;
  if (!isIPv6(address)) return address;
  const [before = '', after = ''] = address.split('::');
  const leading = groupsOf(before);
  // "::" abbreviates a run of zero groups: fill in the missing ones.
  const zeros = address.includes('::') ? Array<string>(8 - leading.length - groupsOf(after).length).fill('0') : [];
  const groups = [...leading, ...zeros, ...groupsOf(after)].slice(0, NETWORK_GROUPS);
  return `${groups.map((group) => Number.parseInt(group, 16).toString(16)).join(':')}::/64`;
}

function groupsOf(text: string): string[] {
  if (text === '') return [];
  // A trailing dotted quad is two groups, both outside the network prefix.
  return text.split(':').flatMap((group) => (group.includes('.') ? ['0', '0'] : [group]));
}
