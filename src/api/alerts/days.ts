/** Days of a digest, in a file of their own: commands do not load what checks a rule. */
export const DAYS = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'] as const;
