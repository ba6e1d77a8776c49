import { saysNothing } from '../domain/idempotency.ts';
import type { OrderExtras } from '../domain/order.ts';
import type { Scenario } from '../domain/scenario.ts';
import type { FromSchema } from './from-schema.ts';
import { isJsonObject, type JsonObject } from './json.ts';
import { toSchedule } from './order-times-input.ts';
import { MAX_ITEMS, MAX_METADATA_KEYS, orderExtras, type schemas } from './schemas.ts';
import { present, trimmed, unlessEmpty } from './tidy.ts';

/**
 * The optional fields of an order's body that the contract does not have, tidied where they are text. Null
 * counts as absent, and so does an empty text. Of a list that is too long it takes only one entry too many, so
 * that a refusal costs no more than an order.
 *
 * @param isSandbox whether `sandbox` is a field of an order
 */
export function normaliseExtras(body: JsonObject, isSandbox: boolean): JsonObject {
  const sandbox = isSandbox ? normaliseScenario(body.sandbox) : undefined;
  return NAMES.some((name) => name in body) ? { ...normaliseAll(body), sandbox } : { sandbox };
}

const NAMES = Object.keys(orderExtras);

function normaliseAll(body: JsonObject): JsonObject {
  return {
    external_id: unlessEmpty(trimmed(body.external_id)),
    metadata: isJsonObject(body.metadata) ? normaliseMetadata(body.metadata) : unlessNothing(body.metadata),
    items: Array.isArray(body.items)
      ? body.items.slice(0, MAX_ITEMS + 1).map(normaliseItem)
      : unlessNothing(body.items),
    pickup_instructions: unlessEmpty(trimmedLines(body.pickup_instructions)),
    dropoff_instructions: unlessEmpty(trimmedLines(body.dropoff_instructions)),
    leave_at_door: unlessNull(body.leave_at_door),
    ready_at: unlessEmpty(trimmed(body.ready_at)),
    deliver_after: unlessEmpty(trimmed(body.deliver_after)),
    deliver_by: unlessEmpty(trimmed(body.deliver_by)),
    size: unlessNull(body.size),
  };
}

/** The optional fields of a body that fits its schema; null where they say nothing. */
export function toExtras(body: FromSchema<typeof schemas.placeOrder>): OrderExtras | null {
  const { external_id, metadata = {}, items = [], pickup_instructions, dropoff_instructions, leave_at_door } = body;
  const extras = {
    externalId: external_id ?? null,
    metadata,
    items,
    pickupInstructions: pickup_instructions ?? null,
    dropoffInstructions: dropoff_instructions ?? null,
    leaveAtDoor: leave_at_door ?? false,
    ...toSchedule(body),
    scenario: toScenario(body.sandbox),
  };
  return saysNothing(extras) ? null : extras;
}

function toScenario(sandbox: FromSchema<typeof schemas.placeOrder>['sandbox']): Scenario | null {
  const { card = null, text = null, driver = null } = sandbox ?? {};
  return (card ?? text ?? driver) ? { card, text, driver } : null;
}

function normaliseScenario(scenario: unknown): unknown {
  if (!isJsonObject(scenario)) return unlessNull(scenario);
  const { card, text, driver } = scenario;
  return present({ card: unlessNull(card), text: unlessNull(text), driver: unlessNull(driver) });
}

function normaliseMetadata(metadata: JsonObject): JsonObject {
  const entries = Object.entries(metadata).slice(0, MAX_METADATA_KEYS + 1);
  return Object.fromEntries(entries.map(([key, value]) => [key, trimmedLines(value)]));
}

function normaliseItem(item: unknown): unknown {
  return isJsonObject(item) ? present({ name: trimmed(item.name), quantity: item.quantity }) : item;
}

/** A text of several lines, each ended by U+000A alone, without the spaces around it. */
export function trimmedLines(value: unknown): unknown {
  return typeof value === 'string' ? value.replaceAll(/\r\n?/g, '\n').trim() : value;
}

/** An empty text, list or object says nothing, whichever is asked for: PHP writes an empty object as a list. */
function unlessNothing(value: unknown): unknown {
  const isEmpty = Array.isArray(value) ? value.length === 0 : isJsonObject(value) && Object.keys(value).length === 0;
  return isEmpty ? undefined : unlessEmpty(value);
}

function unlessNull(value: unknown): unknown {
  return value === null ? undefined : value;
}
