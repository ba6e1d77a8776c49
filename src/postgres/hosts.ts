/**
 * A URL of Postgres for each host that it names: `postgres://u:p@a:5432,b:5433/d` is of two. URLs in general
 * have one host, so other parsers refuse such a one.
 */
export function urlsOfHosts(url: string): string[] {
  const scheme = url.slice(0, url.indexOf('://') + 3);
  const [authority = ''] = url.slice(scheme.length).split(/[/?]/, 1);
  const login = authority.slice(0, authority.lastIndexOf('@') + 1);
  const rest = url.slice(scheme.length + authority.length);
  return authority
    .slice(login.length)
    .split(',')
    .map((host) => `${scheme}${login}${host}${rest}`);
}
