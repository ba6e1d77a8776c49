import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ServiceError } from '../../src/domain/errors.ts';
import { MAX_JSON_DEPTH, parseJsonObject } from '../../src/http/json.ts';

function parse(body: string | Buffer) {
  const result = parseJsonObject(Buffer.from(body as string));
  return 'ok' in result ? result.ok : result.error;
}

describe('parsing a body', () => {
  it.each([
    ['nothing', ''],
    ['spaces', '   '],
    ['half an object', '{"a":'],
    ['a trailing comma', '{"a":1,}'],
    ['two values', '{}{}'],
    ['a comment', '{/* */}'],
    ['single quotes', "{'a':1}"],
    ['NaN', '{"a":NaN}'],
    ['an array', '[]'],
    ['null', 'null'],
    ['a string', '"{}"'],
    ['a number', '1'],
    ['a control character in a string', '{"a":"\u0001"}'],
    ['two byte order marks', '\ufeff\ufeff{}'],
    ['a byte order mark alone', '\ufeff'],
  ])('refuses %s as malformed', (_, body) => {
    expect(parse(body)).toMatchObject({ name: 'ServiceError', code: 'malformed_json', fields: [] });
  });

  it.each([
    ['a lone continuation byte', [0x80]],
    ['an overlong slash', [0xc0, 0xaf]],
    ['half a character', [0xe2, 0x82]],
    ['a surrogate', [0xed, 0xa0, 0x80]],
    ['a byte that UTF-8 has not', [0xff]],
  ])('refuses %s, instead of replacing it', (_, inner) => {
    const body = Buffer.concat([Buffer.from('{"a":"'), Buffer.from(inner), Buffer.from('"}')]);
    expect(parse(body)).toMatchObject({ code: 'malformed_json', message: 'The body is not valid UTF-8.' });
  });

  it('takes any character that UTF-8 can hold', () => {
    expect(parse('{"a":"Zoë 李 👩‍🚀 \\u00e9"}')).toEqual({ a: 'Zoë 李 👩‍🚀 é' });
  });

  it('takes a byte order mark in front, as some editors and platforms write it', () => {
    expect(parse('\ufeff{"a":1}')).toEqual({ a: 1 });
  });

  it('takes the deepest nesting allowed and refuses one level more', () => {
    const nested = (depth: number) => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`;
    expect(parse(nested(MAX_JSON_DEPTH))).not.toBeInstanceOf(ServiceError);
    expect(parse(nested(MAX_JSON_DEPTH + 1))).toMatchObject({ code: 'malformed_json' });
    expect(parse(`{"a":${'['.repeat(30_000)}${']'.repeat(30_000)}}`)).toMatchObject({ code: 'malformed_json' });
    expect(parse('['.repeat(60_000))).toMatchObject({ code: 'malformed_json' });
  });

  it('does not take brackets inside of strings for nesting', () => {
    const text = '[{'.repeat(500);
    expect(parse(JSON.stringify({ a: text, b: `\\"${text}`, '[[[': '\\' }))).toEqual({
      a: text,
      b: `\\"${text}`,
      '[[[': '\\',
    });
  });

  it('leaves the prototype of what it gives alone', () => {
    const value = parse('{"__proto__":{"customer":1},"constructor":2}');
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
    expect((value as Record<string, unknown>).customer).toBeUndefined();
  });

  it('agrees with JSON.parse on every object, and never throws on any bytes', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string({ unit: 'grapheme' }), fc.jsonValue({ maxDepth: 5 })), (object) => {
        const text = JSON.stringify(object);
        expect(parse(text)).toEqual(JSON.parse(text));
      }),
    );
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        const result = parseJsonObject(Buffer.from(bytes));
        expect('ok' in result || result.error.code === 'malformed_json').toBe(true);
      }),
    );
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...Array.from('{}[]",:\\1a')), { maxLength: 60 }), (characters) => {
        const text = characters.join('');
        const result = parseJsonObject(Buffer.from(text));
        if ('ok' in result) expect(result.ok).toEqual(JSON.parse(text));
      }),
      { numRuns: 2_000 },
    );
  });
});
