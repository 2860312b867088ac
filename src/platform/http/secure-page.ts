import helmet from 'helmet';

/** The headers of a page. Its content security policy has these directives. */
export function securePage(directives: Readonly<Record<string, string[]>>) {
  return helmet({
    contentSecurityPolicy: { useDefaults: false, directives },
    // These headers need TLS, which the operator may add; without it browsers log warnings.
    strictTransportSecurity: false,
    crossOriginOpenerPolicy: false,
    originAgentCluster: false,
  });
}
