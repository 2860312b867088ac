import helmet from 'helmet';

/**
 * The headers of a page: of all that a browser may load and do, what these directives of its content security
 * policy allow.
 */
export function securePage(directives: Readonly<Record<string, string[]>>) {
  return helmet({
    contentSecurityPolicy: { useDefaults: false, directives },
    // These headers need TLS, which the operator may add; without it browsers log warnings.
    strictTransportSecurity: false,
    crossOriginOpenerPolicy: false,
    originAgentCluster: false,
  });
}
