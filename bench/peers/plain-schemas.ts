/** The plain service's requests and replies, for fastify to check and to write. */
const text = (maxLength: number) => ({ type: 'string', minLength: 1, maxLength }) as const;

const body = {
  type: 'object',
  required: ['retailer_id', 'customer', 'pickup_address', 'dropoff_address'],
  properties: {
    retailer_id: { type: 'string', format: 'uuid' },
    customer: {
      type: 'object',
      required: ['name', 'email', 'phone'],
      properties: {
        name: text(200),
        email: { ...text(254), format: 'email' },
        phone: { type: 'string', pattern: '^\\+[1-9]\\d{6,14}$' },
        sms_opt_in: { type: 'boolean', default: false },
      },
    },
    pickup_address: text(500),
    dropoff_address: {
      type: 'object',
      required: ['line1', 'city', 'state', 'zip'],
      properties: {
        line1: text(200),
        line2: text(200),
        city: text(100),
        state: { type: 'string', pattern: '^[A-Z]{2}$' },
        zip: { type: 'string', pattern: '^\\d{5}(-\\d{4})?$' },
      },
    },
    delivery_tier: { type: 'string', enum: ['standard', 'priority', 'scheduled'], default: 'standard' },
  },
} as const;

const string = { type: 'string' } as const;

const created = {
  type: 'object',
  properties: {
    success: { type: 'boolean' },
    message: string,
    order: {
      type: 'object',
      properties: {
        id: string,
        status: string,
        delivery_tier: string,
        delivery_fee: { type: 'integer' },
        payment_status: string,
        tracking_token: string,
        created_at: string,
      },
    },
  },
} as const;

export const createOrderSchema = { body, response: { 201: created } };
