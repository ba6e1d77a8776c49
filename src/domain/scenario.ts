import type { Point } from '../geo/point.ts';

/** How the card of an order answers, by Stripe's test payment methods; null for a store without a card. */
export const SCENARIO_CARDS = {
  declined: 'pm_card_chargeDeclined',
  needs_authentication: 'pm_card_authenticationRequired',
  none: null,
  time_out: 'pm_sandbox_time_out',
} as const;

/** What becomes of an order's texts, by the number that they go to instead of the customer's. */
export const SCENARIO_PHONES = {
  undelivered: '+15005550010',
  opted_out: '+15005550004',
  unknown_outcome: '+15005550011',
} as const;

/** The pickup of an order that no driver is to take: the point of the ocean that is farthest from any land. */
export const NO_DRIVERS_LAND: Point = { lat: -48.8767, lng: -123.3933 };

/** What the first driver of an order does. `none`: no driver ever takes it. */
export const SCENARIO_DRIVERS = ['none', 'gives_back', 'silent', 'undeliverable'] as const;

/** A bad day that a store asks for in the sandbox, for one order. */
export type Scenario = {
  readonly card: keyof typeof SCENARIO_CARDS | null;
  readonly text: keyof typeof SCENARIO_PHONES | null;
  readonly driver: (typeof SCENARIO_DRIVERS)[number] | null;
};

/** A scenario as its order keeps it; a part that was not asked for is absent. */
export type KeptScenario = {
  readonly payment_method?: string | null;
  readonly text_to?: string;
  readonly driver?: Exclude<Scenario['driver'], null>;
};

/** What an order keeps of its scenario. */
export function keptScenario({ card, text, driver }: Scenario): KeptScenario {
  return {
    ...(card ? { payment_method: SCENARIO_CARDS[card] } : {}),
    ...(text ? { text_to: SCENARIO_PHONES[text] } : {}),
    ...(driver ? { driver } : {}),
  };
}
