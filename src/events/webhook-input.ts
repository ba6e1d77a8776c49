import type { FieldError } from '../domain/errors.ts';
import { EVERY_EVENT_TYPE } from '../domain/webhook.ts';
import type { JsonObject } from '../http/json.ts';
import { type Validated, validate } from '../http/validate.ts';
import { validators } from '../http/validators.js';
import type { WebhookChange } from '../store/events/webhooks.ts';
import { readWebhookUrl } from '../vendors/webhook-client.ts';

type Given = { readonly url?: string; readonly event_types?: readonly string[]; readonly enabled?: boolean };

/** The body of `POST /webhooks`. A webhook that names no types is told of all. */
export function validateNewWebhook(
  body: JsonObject,
  sandbox: boolean,
): Validated<{ readonly url: string; readonly eventTypes: readonly string[] | null }> {
  const checked = check(validate<Given>(validators.addWebhook, body), sandbox);
  if ('fields' in checked) return checked;
  const { url = '', eventTypes = null } = checked.ok;
  return { ok: { url, eventTypes } };
}

/** The body of `PATCH /webhooks/{id}`. */
export function validateWebhookChange(body: JsonObject, sandbox: boolean): Validated<WebhookChange> {
  return check(validate<Given>(validators.changeWebhook, body), sandbox);
}

function check(checked: Validated<Given>, sandbox: boolean): Validated<WebhookChange> {
  if ('fields' in checked) return checked;
  const fields: FieldError[] = [];
  const { url: given, event_types: types, enabled } = checked.ok;
  const url = given === undefined ? undefined : readWebhookUrl(given.trim(), sandbox);
  if (typeof url === 'string') fields.push({ field: 'url', message: url });
  const isEvery = types?.includes(EVERY_EVENT_TYPE) ?? false;
  if (isEvery && types && types.length > 1) {
    fields.push({ field: 'event_types', message: `must be "${EVERY_EVENT_TYPE}" alone, or types` });
  }
  if (fields.length > 0) return { fields };
  return {
    ok: {
      ...(url instanceof URL ? { url: url.href } : {}),
      ...(types ? { eventTypes: isEvery ? null : types } : {}),
      ...(enabled === undefined ? {} : { enabled }),
    },
  };
}
