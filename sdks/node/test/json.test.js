// Numbers travel digit for digit, and everything else as JSON.parse and JSON.stringify have it.

import assert from "node:assert/strict";
import { test } from "node:test";

import { JsonNumber, Unsendable } from "../src/index.js";
import { decode, parse, stringify } from "../src/json.js";

test("integers are exact, whatever their size", () => {
  for (const digits of [
    "3544790567247868102",
    "-9007199254740993",
    "1".repeat(40),
    "9007199254740991",
    "0",
    "-0",
    "-7",
  ]) {
    assert.equal(stringify(parse(digits)), digits);
  }
  assert.equal(parse("9007199254740991"), 9007199254740991);
  assert.equal(parse("9007199254740992"), 9007199254740992n);
  assert.equal(stringify(parse(`[${"9".repeat(5000)}]`)), `[${"9".repeat(5000)}]`);
});

test("fractions are numbers, and exact where parseFloat asks for it", () => {
  assert.equal(parse("0.1000000000000000055"), 0.1);
  assert.equal(parse("1e400").text, "1e400");
  const exact = (text) => stringify(parse(text, (digits) => new JsonNumber(digits)));
  for (const text of ["0.1000000000000000055", "1e400", "-1.50E+3", '{"a":[1.0,2]}']) assert.equal(exact(text), text);
  assert.throws(() => new JsonNumber("0x10"), Unsendable);
});

test("the reader for exact numbers reads all else as JSON.parse does", () => {
  const big = "12345678901234567890";
  const texts = [
    '{"a":[true,false,null,"x"],"":{}}',
    ' [ 1 , -0.5 , "\\u00e9\\n\\"\\\\" , [] ] ',
    '"quote \\\\\\" and \\\\"',
    '{"__proto__":{"a":1},"constructor":2}',
    '{"a":1,"a":2}',
  ];
  for (const text of texts) {
    const [found, ahead] = parse(`[${text},${big}]`);
    assert.deepEqual(found, JSON.parse(text));
    assert.deepEqual(Object.keys(Object(found)), Object.keys(Object(JSON.parse(text))));
    assert.equal(ahead, BigInt(big));
  }
  assert.equal({}.a, undefined);
});

test("what is no JSON is an error, with and without large numbers", () => {
  const texts = [
    "",
    "[1,]",
    "{",
    '{"a" 1}',
    "[01]",
    "+1",
    "nul",
    '"\\x"',
    '"a',
    "[1] 2",
    "NaN",
    "{a:1}",
    '"\t"',
    "1.",
    "[1 2]",
  ];
  for (const text of texts) {
    assert.throws(() => parse(text), SyntaxError, text);
    assert.throws(() => parse(`[12345678901234567890,${text}]`), SyntaxError, text);
  }
  assert.throws(() => decode(Buffer.from([0x22, 0xff, 0x22])));
  assert.throws(() => parse(`${"[".repeat(2000)}1e1${"]".repeat(2000)}`), SyntaxError);
});

test("values that JSON cannot carry are named", () => {
  const itself = {};
  itself.itself = itself;
  for (const value of [NaN, Infinity, () => 1, Symbol("s"), new Set(), itself, [Promise.resolve()]]) {
    assert.throws(() => stringify(value), Unsendable);
  }
});

test("values are written as JSON.stringify writes them, and more", () => {
  const plain = {
    a: undefined,
    b: [undefined, 1.5e300, "\ud800é\u2028"],
    c: new Date(0),
    d: { toJSON: () => 1 },
    e: null,
  };
  assert.deepEqual(JSON.parse(stringify(plain)), JSON.parse(JSON.stringify(plain)));
  assert.equal(stringify(undefined), "null");
  assert.equal(stringify(new Map([["a", 2n ** 70n]])), '{"a":1180591620717411303424}');
});
