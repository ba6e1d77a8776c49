import { newActionId } from './phone.ts';
import { sayOfPhone } from './phone-words.ts';
import { ask } from './request.ts';
import { read, write } from './store.ts';

/** What stands behind `#` in a sign-in link; the service never sees that part of an address. */
const MARK = '#sign-in=';
/** How a code begins, by which it is told from a token. */
const CODE = 'sdl_';
const ATTEMPT = 'sameday-driver-sign-in';
const REQUEST_MS = 10_000;

/** What became of a sign-in link: the token, or what to say to the driver. */
export type LinkResult = { readonly token: string } | { readonly problem: string };

/** The code of the link by which the page was opened; null where it was opened without one. */
export const codeInAddress = (): string | null => codeOf(location.hash);

/** Takes the code out of the address. */
export function forgetLink(): void {
  history.replaceState(null, '', location.pathname + location.search);
}

/**
 * Exchanges the code of a link for a token. The code leaves the address with the answer. Without an answer it
 * stays, so that loading the page again tries again, with the same attempt, by which a lost answer comes again.
 */
export async function signInByLink(code: string): Promise<LinkResult> {
  const { result, isFinal } = await resultOf(code);
  if (isFinal) forgetLink();
  return result;
}

/**
 * The same for a link, or its code, that was pasted in place of a token; null for another text. An installed
 * page of an iPhone has a storage of its own, and no link leads into it.
 */
export async function signInByText(text: string): Promise<LinkResult | null> {
  const code = codeOf(text) ?? (text.startsWith(CODE) ? text : null);
  return code === null ? null : (await resultOf(code)).result;
}

async function resultOf(code: string): Promise<{ readonly result: LinkResult; readonly isFinal: boolean }> {
  const reply = await exchange(code);
  const isFinal = reply !== null && (reply.token !== null || reply.isDead);
  if (!isFinal) return { result: { problem: sayOfPhone('linkLater') }, isFinal };
  write(ATTEMPT, null);
  return { result: reply.token === null ? { problem: sayOfPhone('linkDead') } : { token: reply.token }, isFinal };
}

/** The code behind the mark; null without one. */
function codeOf(address: string): string | null {
  const at = address.indexOf(MARK);
  return at < 0 ? null : address.slice(at + MARK.length);
}

type Exchanged = {
  readonly token: string | null;
  /** The service says that the code is none; a gateway or a hotel's sign-in page may answer with any status. */
  readonly isDead: boolean;
};

/** Null without an answer. */
async function exchange(code: string): Promise<Exchanged | null> {
  const attempt = kept(code) ?? newActionId();
  // Where it cannot be kept, a lost answer costs a new link.
  write(ATTEMPT, `${code} ${attempt}`);
  const body = JSON.stringify({ code, attempt });
  try {
    return await ask(
      { method: 'POST', path: '/driver/sign-in', token: null, body, timeoutMs: REQUEST_MS },
      async (response) => {
        const { status } = response;
        const said = (await response.json()) as { readonly success?: unknown; readonly driver_token?: unknown } | null;
        const isDead = (status === 400 || status === 401) && said?.success === false;
        return { token: typeof said?.driver_token === 'string' ? said.driver_token : null, isDead };
      },
    );
  } catch {
    return null;
  }
}

/** The attempt at this code of an earlier page, which may have been another tab. */
function kept(code: string): string | null {
  const [of, attempt] = (read(ATTEMPT) ?? '').split(' ');
  return of === code ? (attempt ?? null) : null;
}
