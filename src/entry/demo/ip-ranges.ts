import { type Random, Weighted } from '../../shared/random.js';

/** A block of public addresses, all of them in one country. */
export interface AddressBlock {
  country: string;
  /** The first two numbers of an IPv4 address, or the first three groups of an IPv6 one. */
  network: string;
}

const NETWORKS: Readonly<Record<string, { weight: number; networks: readonly string[] }>> = {
  US: { weight: 30, networks: ['3.17', '3.31', '2607:fb90:1'] },
  DE: { weight: 18, networks: ['2.164', '2.206', '2a02:908:1'] },
  GB: { weight: 10, networks: ['2.101', '2.220', '2a00:23c4:1'] },
  FR: { weight: 8, networks: ['2.3', '2a01:cb00:1'] },
  NL: { weight: 5, networks: ['13.81'] },
  CA: { weight: 4, networks: ['15.157'] },
  IN: { weight: 4, networks: ['1.38', '2409:4060:1'] },
  BR: { weight: 3, networks: ['15.229', '2804:14c:1'] },
  JP: { weight: 3, networks: ['1.66'] },
  AU: { weight: 3, networks: ['1.122'] },
  PL: { weight: 2, networks: ['5.185'] },
  ES: { weight: 2, networks: ['2.136'] },
  IT: { weight: 2, networks: ['2.38'] },
  SE: { weight: 2, networks: ['2.248'] },
  CH: { weight: 2, networks: ['31.164'] },
  AT: { weight: 1, networks: ['46.206'] },
  DK: { weight: 1, networks: ['2.108'] },
  IE: { weight: 1, networks: ['34.241'] },
  PT: { weight: 1, networks: ['85.241'] },
  CZ: { weight: 1, networks: ['78.80'] },
  SG: { weight: 1, networks: ['3.1'] },
  KR: { weight: 1, networks: ['1.101'] },
  NZ: { weight: 1, networks: ['49.227'] },
  ZA: { weight: 1, networks: ['41.3'] },
  NG: { weight: 1, networks: ['102.94'] },
  MX: { weight: 1, networks: ['148.206'] },
  AR: { weight: 1, networks: ['168.101'] },
  TH: { weight: 1, networks: ['58.136'] },
};

const ALL = Object.entries(NETWORKS).flatMap(([country, { weight, networks }]) =>
  networks.map((network) => [{ country, network }, weight / networks.length] as const),
);

export const PLACES: readonly AddressBlock[] = ALL.map(([place]) => place);

const WEIGHTED = new Weighted<AddressBlock>(ALL);

export function pickPlace(random: Random): AddressBlock {
  return WEIGHTED.pick(random);
}

/** A random address of the place. */
export function pickAddress(random: Random, { network }: AddressBlock): string {
  if (!network.includes(':')) return `${network}.${random.integer(0, 255)}.${random.integer(1, 254)}`;
  return `${network}:${random.integer(1, 0xffff).toString(16)}::${random.integer(1, 0xffff).toString(16)}`;
}

/** An address of the sample's own network, which is in no country. */
export function pickInternalAddress(random: Random): string {
  return `10.20.${random.integer(0, 3)}.${random.integer(2, 254)}`;
}
