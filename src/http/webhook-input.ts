import type { FieldError } from '../domain/errors.ts';
import { EVERY_EVENT_TYPE } from '../domain/webhook.ts';
import { MAX_FIELD_ERRORS } from '../limits.ts';
import type { WebhookChange } from '../store/webhooks.ts';
import { readWebhookUrl } from '../vendors/webhook-client.ts';
import type { JsonObject } from './json.ts';
import { schemas } from './schemas.ts';
import { type Validated, validate } from './validate.ts';
import { validators } from './validators.js';

type Given = { readonly url?: string; readonly event_types?: readonly string[]; readonly enabled?: boolean };

/** The body of `POST /webhooks`. A webhook that names no types is told of all. */
export function validateNewWebhook(
  body: JsonObject,
  sandbox: boolean,
): Validated<{ readonly url: string; readonly eventTypes: readonly string[] | null }> {
  const checked = check(validate<Given>(validators.addWebhook, body), body, schemas.addWebhook.properties, sandbox);
  if ('fields' in checked) return checked;
  const { url = '', eventTypes = null } = checked.ok;
  return { ok: { url, eventTypes } };
}

/** The body of `PATCH /webhooks/{id}`. */
export function validateWebhookChange(body: JsonObject, sandbox: boolean): Validated<WebhookChange> {
  return check(validate<Given>(validators.changeWebhook, body), body, schemas.changeWebhook.properties, sandbox);
}

/** Names everything that is wrong at once. A misspelt name is wrong too, since it would count as absent. */
function check(
  checked: Validated<Given>,
  body: JsonObject,
  properties: object,
  sandbox: boolean,
): Validated<WebhookChange> {
  const unknown = Object.keys(body).filter((name) => !Object.hasOwn(properties, name));
  const fields: FieldError[] = [
    ...('fields' in checked ? checked.fields : []),
    ...unknown.slice(0, MAX_FIELD_ERRORS).map((field) => ({ field, message: 'is not known here' })),
  ];
  if ('fields' in checked) return { fields };
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
