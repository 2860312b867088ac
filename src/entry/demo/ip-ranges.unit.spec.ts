import { isIP } from 'node:net';
import { lookUpCountry } from '../../sources/decoding/client-country.js';
import { PLACES, pickAddress, pickInternalAddress, pickPlace } from './ip-ranges.js';
import { Random } from '../../shared/random.js';

/** The packaged country data knows IPv4 alone. */
const IPV4_PLACES = PLACES.filter(({ network }) => !network.includes(':'));

describe('the places of the sample', () => {
  it.each(IPV4_PLACES)('has every address of $network in $country, as the packaged data does', (place) => {
    const random = new Random(1);
    const countries = Array.from({ length: 200 }, () => lookUpCountry(pickAddress(random, place)));
    expect(new Set(countries)).toEqual(new Set([place.country]));
  });

  it('has addresses of both families', () => {
    const random = new Random(2);
    const families = new Set(Array.from({ length: 200 }, () => isIP(pickAddress(random, pickPlace(random)))));
    expect(families).toEqual(new Set([4, 6]));
  });

  it('has internal addresses of no country', () => {
    expect(lookUpCountry(pickInternalAddress(new Random(3)))).toBeNull();
  });
});
