import type { LinkState } from './link.ts';
import type { PositionProblem } from './position.ts';
import type { Fix } from './route.ts';
import type { Finished } from './session.ts';
import type { Action, Day, Shown, Stop, WaitPlace } from './state.ts';

export type Screen = 'none' | 'sign-in' | 'replaced' | 'work';

/** Everything on the screen. */
export type Model = {
  readonly screen: Screen;
  readonly link: LinkState;
  /** Who is signed in; null where nobody is, or that is not known. */
  readonly name: string | null;
  readonly shown: Shown & { readonly stops: readonly Stop[] };
  /** The order at whose door the driver stands. */
  readonly doorOrderId: string | null;
  /** The orders whose parcels are ticked. */
  readonly ticked: ReadonlySet<string>;
  readonly onDuty: boolean;
  readonly onDutyUntil: string | null;
  readonly dutyWaits: boolean;
  /** Where the driver is asked to wait while they have no order. */
  readonly waitAt: WaitPlace | null;
  /** Whether the page cannot ring before it is touched. */
  readonly isMute: boolean;
  readonly problem: PositionProblem | null;
  readonly fix: Fix | null;
  readonly positionAgeMs: number | null;
  readonly waiting: string | null;
  /** Whether the action that ended the last order takes longer than usual to send. */
  readonly late: boolean;
  readonly finished: Finished | null;
  /** That the phone's clock is wrong. */
  readonly clock: string | null;
  readonly refusal: string | null;
  /** The action whose refusal that is; null where it is of another thing. */
  readonly refusedId: string | null;
  /** What was refused, or waits on the sign-in page for its driver, and has a photo that may be saved. */
  readonly photos: readonly Action[];
  /** On the sign-in page: what was done on this phone and waits for its driver. */
  readonly leftBehind: string | null;
  /** What the route has gained. */
  readonly gained: string | null;
  readonly photo: 'none' | 'preparing' | 'ready';
  readonly day: Day | null;
};
