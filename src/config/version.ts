/** The version in package.json; a test compares the two. */
export const PRODUCT_VERSION = '1.0.0';
