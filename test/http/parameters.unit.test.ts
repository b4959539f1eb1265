import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ApiError } from '../../src/http/response/errors.ts';
import { openEnum } from '../../src/http/openapi/openapi-schemas.ts';
import { checkLimit, PAGE_PARAMETERS, type Format } from '../../src/http/request/page-parameters.ts';
import {
  anyOfParameter,
  booleanParameter,
  certificationsParameter,
  freeText,
  idsParameter,
  nigpParameter,
  timestampParameter,
  parseParameters,
  statesParameter,
} from '../../src/http/request/parameters.ts';

const parameters = {
  q: freeText,
  lead_entity: idsParameter('/v1/lead-entities', 'A lead entity'),
  state: statesParameter,
  status: anyOfParameter(openEnum('Status', ['open', 'closed'], 'A status.'), 'A status.'),
  nigp: nigpParameter,
  is_open: booleanParameter('Open or not.'),
  certifications: certificationsParameter,
  updated_since: timestampParameter('Since when.'),
  ...PAGE_PARAMETERS,
};

const parse = (query: string): Record<string, unknown> => ({ ...parseParameters(`/v1/things?${query}`, parameters) });

function refusalOf(query: string): ApiError {
  try {
    parse(query);
  } catch (error) {
    if (error instanceof ApiError && error.status === 400 && error.code === 'validation_failed') return error;
    throw error;
  }
  throw new Error(`${query} was accepted`);
}

const messageOf = (query: string): string => refusalOf(query).message;

describe('parsing a query string', () => {
  test('returns no values for an empty query', () => {
    for (const query of ['', '&', '&&']) expect(parse(query)).toEqual({});
    expect(parseParameters('/v1/things', parameters)).toEqual({});
  });

  test('decodes each value once, and a plus as a space', () => {
    expect(parse('q=fire+%2B%20safety%2520')).toEqual({ q: 'fire + safety%20' });
    expect(parse('lead%5Fentity=a%26b%3Dc')).toEqual({ lead_entity: 'a&b=c' });
    expect(parse('q=a=b')).toEqual({ q: 'a=b' });
  });

  test('returns an object without a prototype', () => {
    expect(Object.getPrototypeOf(parseParameters('/?limit=5', parameters))).toBeNull();
  });

  test('returns any text of an id unchanged, since an unknown id matches nothing, or throws 400', () => {
    const text = fc
      .string({ unit: 'binary', maxLength: 40 })
      .filter((value) => !/[\0,]/.test(value) && value.trim() !== '');
    fc.assert(
      fc.property(text, (value) => {
        expect(parse(`lead_entity=${encodeURIComponent(value)}`)).toEqual({ lead_entity: value });
      }),
      { examples: [['no such id'], [' x'], ['%'], ["' or 1=1"]] },
    );
    fc.assert(
      fc.property(fc.string({ unit: 'binary-ascii', maxLength: 60 }), (query) => {
        try {
          parse(query);
        } catch (error) {
          expect(error).toMatchObject({ status: 400, code: 'validation_failed' });
        }
      }),
    );
  });
});

describe('rejected parameters', () => {
  test.each(['Limit=5', 'x[]=1', 'limit[]=5', '__proto__=1', 'constructor=1', 'toString=1', 'hasOwnProperty=1', '=1'])(
    '%s: an unknown parameter',
    (query) => {
      expect(messageOf(query)).toMatch(/^Unknown parameter ".*/);
      expect(messageOf(query)).toContain('q, lead_entity, state');
    },
  );

  test('an unknown parameter, with the nearest known name', () => {
    expect(messageOf('lead_entty=x')).toContain('Did you mean "lead_entity"?');
    expect(messageOf('leadEntity=x')).toContain('Did you mean "lead_entity"?');
    expect(messageOf('lead=x')).toContain('Did you mean "lead_entity"?');
    expect(messageOf('LIMIT=5')).toContain('Did you mean "limit"?');
    expect(messageOf('page=2')).not.toContain('Did you mean');
    expect(messageOf(`${'x'.repeat(5000)}=1`).length).toBeLessThan(250);
  });

  test('any parameter of a detail', () => {
    expect(() => parseParameters('/v1/things/1?q=x', {})).toThrow('Accepted: none.');
  });

  test('a repeated parameter, even with the same value', () => {
    expect(messageOf('limit=5&limit=5')).toContain('"limit"');
    expect(messageOf('q=&q=x')).toContain('"q"');
    expect(messageOf('limit=5&lim%69t=5')).toContain('"limit"');
  });

  test.each(['q=%ZZ', 'q=%', 'q=%4', 'q=%FF', 'q=%C3', 'q=%ED%A0%80', 'q=%00', 'q=a%00b', '%ZZ=1'])(
    '%s: malformed percent-encoding',
    (query) => {
      expect(messageOf(query)).toContain('percent-encoded UTF-8');
    },
  );
});

describe('limit', () => {
  test.each([1, 25, 99, 100])('accepts %i', (limit) => {
    expect(parse(`limit=${limit}`)).toEqual({ limit });
  });

  test.each(['0', '-1', '05', '0x10', '1e1', '+5', '%2B5', '%2010', '10%20', '10.0', '5,5', '٣', 'NaN'])(
    'rejects "%s"',
    (limit) => {
      const check = (format: Format) => (): void => checkLimit(parse(`limit=${limit}`)['limit'] as number, format);
      expect(check('json')).toThrow('"limit" must be a whole number from 1 to 100, in plain digits.');
      expect(check('csv')).toThrow('"limit" must be a whole number from 1 to 100000, in plain digits.');
    },
  );
});

describe('q', () => {
  test('is ignored if blank', () => {
    for (const query of ['q', 'q=', 'q=+', 'q=%20%09%C2%A0']) expect(parse(query)).toEqual({});
  });

  test('accepts 200 characters, counted in code points of the composed form', () => {
    expect(parse(`q=${'a'.repeat(200)}`)).toEqual({ q: 'a'.repeat(200) });
    expect(parse(`q=${'%F0%9F%94%A5'.repeat(200)}`)).toEqual({ q: '🔥'.repeat(200) });
    expect(parse(`q=${encodeURIComponent('e\u0301'.repeat(200))}`)).toEqual({ q: 'é'.repeat(200) });
    expect(messageOf(`q=${'a'.repeat(201)}`)).toContain('"q" must have at most 200 characters');
    expect(messageOf(`q=${'%F0%9F%94%A5'.repeat(201)}`)).toContain('200 characters');
  });
});

describe('updated_since', () => {
  test.each([
    ['2026-04-15T09:00:00Z', '2026-04-15T09:00:00.000Z'],
    ['2026-04-15t11:00:00.1239%2B02:00', '2026-04-15T09:00:00.123Z'],
    ['2026-04-15T11:00:00+02:00', '2026-04-15T09:00:00.000Z'],
    ['2026-04-15T07:00:00-02:00', '2026-04-15T09:00:00.000Z'],
  ])('reads %s', (text, timestamp) => {
    expect(parse(`updated_since=${text}`)).toEqual({ updated_since: timestamp });
  });

  test.each(['2026-04-15', '2026-02-30T00:00:00Z', '2026-04-15T09:00:00', '1776243600', 'yesterday'])(
    'rejects "%s"',
    (text) => {
      expect(messageOf(`updated_since=${text}`)).toContain('"updated_since" must be a date and time with an offset');
    },
  );
});

describe('other parameter types', () => {
  test('a state accepts two letters in either case', () => {
    expect(parse('state=tx')).toEqual({ state: 'TX' });
    for (const state of ['T', 'TEX', 'T1', 'É', 'ÉÉ', '%20TX']) {
      expect(messageOf(`state=${encodeURI(decodeURI(state))}`)).toContain('"state" must be a two-letter state code');
    }
  });

  test('an enum accepts exactly its values', () => {
    expect(parse('status=open')).toEqual({ status: 'open' });
    for (const status of ['draft', 'Open', 'open,draft', 'open%20']) {
      expect(messageOf(`status=${status}`)).toContain('"status" must be one of open, closed');
    }
  });

  test('a boolean is true or false', () => {
    for (const value of ['true', 'false']) expect(parse(`is_open=${value}`)).toEqual({ is_open: value });
    for (const value of ['1', 'True', 'yes', 'true,false'])
      expect(messageOf(`is_open=${value}`)).toBe('Parameter "is_open" must be true or false.');
  });

  test.each(['3', '07', '0720', '072004', '05-20', '072 ', '٠٧٢', '072004512345'])('"%s" is no NIGP code', (code) => {
    expect(messageOf(`nigp=072,${encodeURIComponent(code)}`)).toBe(
      'Parameter "nigp" must be an NIGP code of 3, 5, 7 or 11 digits, such as 072, or up to 20 of them, separated by ' +
        `commas. ${JSON.stringify(code)} is not accepted.`,
    );
  });

  test('certifications reject blank items', () => {
    expect(parse('certifications=MBE,+Woman-owned')).toEqual({ certifications: 'MBE, Woman-owned' });
    for (const text of [',', 'MBE,', ',MBE', 'MBE,,WBE', 'MBE,+,WBE']) {
      expect(messageOf(`certifications=${text}`)).toContain('"certifications" must be');
    }
  });
});

describe('several values', () => {
  test('are the same set in any order, also if one is repeated', () => {
    for (const text of ['tx,ok', 'OK,TX', 'Ok,tX,OK']) expect(parse(`state=${text}`)).toEqual({ state: 'OK,TX' });
    for (const text of ['072', '072,072']) expect(parse(`nigp=${text}`)).toEqual({ nigp: '072' });
    expect(parse('status=open,closed,open')).toEqual({ status: 'closed,open' });
    expect(parse('lead_entity=b,a%2Cc')).toEqual({ lead_entity: 'a,b,c' });
  });

  test('are at most 20', () => {
    const ids = Array.from({ length: 21 }, (_, index) => `le_${index + 10}`);
    expect(parse(`lead_entity=${ids.slice(1).join(',')}`)).toEqual({ lead_entity: ids.slice(1).join(',') });
    expect(messageOf(`lead_entity=${ids.join(',')}`)).toBe(
      'Parameter "lead_entity" must be an id from /v1/lead-entities, or up to 20 of them, separated by commas. There are 21.',
    );
  });

  test.each([
    ['state=TX,', ''],
    ['state=,TX', ''],
    ['lead_entity=a,,b', ''],
    ['lead_entity=a,+,b', ' '],
    ['lead_entity=a,+b', ' b'],
    ['state=TX,Texas', 'Texas'],
    ['status=open,draft', 'draft'],
  ])('%s: one that is empty, malformed or beside a space is named', (query, value) => {
    const name = query.slice(0, query.indexOf('='));
    expect(messageOf(query)).toMatch(
      new RegExp(`^Parameter "${name}" must be .*, separated by commas\\. "${value}" is not`),
    );
  });

  test('text of the client is not logged', () => {
    const logged = JSON.stringify(refusalOf('state=TX,secret').logged);
    expect(logged).toContain('must be a two-letter state code');
    expect(logged).not.toContain('secret');
  });
});

describe('a blank value', () => {
  const blanks = ['', '=', '=+', '=%20%09%C2%A0'];

  test.each([
    ['lead_entity', 'an id from /v1/lead-entities, or up to 20 of them, separated by commas'],
    ['state', 'a two-letter state code, such as TX, or up to 20 of them, separated by commas'],
    ['status', 'one of open, closed, or up to 20 of them, separated by commas'],
    ['is_open', 'true or false'],
    ['certifications', 'abbreviations or names of certifications, separated by commas'],
    ['updated_since', 'a date and time with an offset (RFC 3339), such as 2026-04-15T09:00:00Z'],
    ['limit', 'a whole number, in plain digits'],
    ['cursor', 'the "meta.next_cursor" of the previous page, unchanged'],
  ])('of %s is refused with what is accepted', (name, accepted) => {
    const message = `Parameter "${name}" is blank. It must be ${accepted}. Omit it if you do not need it.`;
    for (const blank of blanks) expect(messageOf(name + blank)).toBe(message);
  });
});
