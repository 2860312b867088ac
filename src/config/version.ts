/** The product's version, as package.json has it; a test holds the two together. */
export const PRODUCT_VERSION = '1.0.0';
