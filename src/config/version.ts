/** The version in package.json and its lockfile; a test compares them. */
export const PRODUCT_VERSION = '1.0.0';
