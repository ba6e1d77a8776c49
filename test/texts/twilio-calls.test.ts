import { getExpectedTwilioSignature } from 'twilio/lib/webhooks/webhooks.js';
import { describe, expect, test } from 'vitest';
import { newId } from '../../src/domain/ids.ts';
import {
  isSignatureForm,
  isSignedByTwilio,
  MAX_TWILIO_PARAMETERS,
  RETRIES,
  readOptOut,
  readStatus,
  readTwilioForm,
  statusUrlOf,
} from '../../src/texts/twilio-calls.ts';

const URL_OF_STATUS = 'https://delivery.example.com/twilio/status?order=1&kind=tracking';
const FORM = { MessageSid: 'SM1', MessageStatus: 'delivered', To: '+14155550123' };

describe('a signature', () => {
  const signed = (url: string, token = 'token', form: Record<string, string> = FORM) =>
    getExpectedTwilioSignature(token, url, form);

  test('holds for the address, the parameters and the token that it was made of', () => {
    const holds = (signature: string, urls = [URL_OF_STATUS], form = FORM) =>
      isSignedByTwilio('token', signature, urls, form);
    expect(holds(signed(URL_OF_STATUS))).toBe(true);
    expect(holds(signed(URL_OF_STATUS), ['https://other.example', URL_OF_STATUS])).toBe(true);
    expect(holds(signed(URL_OF_STATUS, 'another'))).toBe(false);
    expect(holds(signed(URL_OF_STATUS), [URL_OF_STATUS.replace('order=1', 'order=2')])).toBe(false);
    expect(holds(signed(URL_OF_STATUS), [URL_OF_STATUS], { ...FORM, MessageStatus: 'undelivered' })).toBe(false);
    expect(holds(signed(URL_OF_STATUS), [])).toBe(false);
  });

  test('holds with and without the order to repeat the call', () => {
    expect(isSignedByTwilio('token', signed(URL_OF_STATUS + RETRIES), [URL_OF_STATUS], FORM)).toBe(true);
  });

  test('is told from any other header before it is verified', () => {
    expect(isSignatureForm(signed(URL_OF_STATUS))).toBe(true);
    for (const header of [undefined, '', 'x', `${signed(URL_OF_STATUS)}=`]) expect(isSignatureForm(header)).toBe(false);
  });
});

test('a form is read as it was escaped, and not where it could mean two things or is endless', () => {
  expect({ ...readTwilioForm(Buffer.from('Body=caf%C3%A9+%2B&From=%2B1415')) }).toEqual({
    Body: 'café +',
    From: '+1415',
  });
  expect(readTwilioForm(Buffer.from('Body=STOP&Body=START'))).toBeNull();
  expect(readTwilioForm(Buffer.from('__proto__=1&Body=STOP'))?.Body).toBe('STOP');
  const many = Array.from({ length: MAX_TWILIO_PARAMETERS + 1 }, (_, n) => `p${n}=1`).join('&');
  expect(readTwilioForm(Buffer.from(many))).toBeNull();
});

describe('the news of a text', () => {
  const orderId = newId();
  const read = (
    form: Record<string, string>,
    query = new URL(statusUrlOf('https://a.example', orderId, 'delivered')),
  ) => readStatus(query.searchParams, { MessageSid: 'SM1', ...form });

  test.each([
    ['queued', 'sent'],
    ['sent', 'sent'],
    ['delivered', 'delivered'],
    ['undelivered', 'undelivered'],
    ['failed', 'undelivered'],
  ])('%s counts as %s', (said, status) => {
    expect(read({ MessageStatus: said, ErrorCode: '30003' })).toEqual({
      orderId,
      kind: 'delivered',
      sid: 'SM1',
      status,
      failureCode: status === 'undelivered' ? '30003' : null,
      sender: null,
    });
  });

  const ofSender = '30001 30002 30022 30023 30024 30027 30032 30033 30034'.split(' ');
  test.each(ofSender)('is with %s of the sender, whoever the text is for', (code) => {
    for (const said of ['undelivered', 'failed']) {
      const told = read({ MessageStatus: said, ErrorCode: code });
      expect(told).toMatchObject({ status: 'sender_refused', failureCode: code });
    }
  });

  test('is that of the text alone where it waited at Twilio for longer than it is useful', () => {
    expect(read({ MessageStatus: 'failed', ErrorCode: '30036' })).toMatchObject({
      status: 'undelivered',
      failureCode: '30036',
    });
  });

  test('without a code has none of Twilio’s', () => {
    expect(read({ MessageStatus: 'undelivered' })?.failureCode).toBe('unknown');
    expect(read({ MessageStatus: 'undelivered', ErrorCode: 'x; drop' })?.failureCode).toBe('unknown');
  });

  test('names the number that sent it, where it is one', () => {
    for (const sender of ['+14155550100', '55512'])
      expect(read({ MessageStatus: 'failed', ErrorCode: '21610', From: sender })?.sender).toBe(sender);
    expect(read({ MessageStatus: 'failed', ErrorCode: '21610', From: 'Corner Market' })?.sender).toBeNull();
  });

  test('is nothing where the address names no text, or the status is not known', () => {
    expect(read({ MessageStatus: 'dreaming' })).toBeNull();
    expect(read({ MessageStatus: 'sent', MessageSid: '' })).toBeNull();
    for (const search of ['', '?order=1&kind=tracking', `?order=${orderId}&kind=other`, `?order=${orderId}`])
      expect(read({ MessageStatus: 'sent' }, new URL(`https://a.example/${search}`))).toBeNull();
  });
});

describe('a customer’s message', () => {
  const read = (form: Record<string, string>) => readOptOut({ From: '+14155550123', MessageSid: 'SM9', ...form });

  test.each(['STOP', 'stopall', ' Unsubscribe ', 'cancel', 'End', 'quit'])('%s asks for no texts', (word) => {
    expect(read({ Body: word })).toEqual({ phone: '+14155550123', optedOut: true, sid: 'SM9' });
  });
  test.each(['START', 'yes', 'Unstop'])('%s asks for texts again', (word) => {
    expect(read({ Body: word })).toMatchObject({ optedOut: false });
  });
  test.each(['', 'please stop', 'stop it', 'HELP', 'thanks'])('“%s” asks for neither', (text) => {
    expect(read({ Body: text })).toBeNull();
  });
  test('counts as what Advanced Opt-Out makes of it', () => {
    expect(read({ Body: 'arrêt', OptOutType: 'STOP' })).toMatchObject({ optedOut: true });
    expect(read({ Body: 'STOP', OptOutType: 'HELP' })).toBeNull();
  });
  test('of a sender that is no phone counts for nothing', () => {
    expect(read({ From: '12345', Body: 'STOP' })).toBeNull();
    expect(read({ From: 'whatsapp:+14155550123', Body: 'STOP' })).toBeNull();
  });
});
