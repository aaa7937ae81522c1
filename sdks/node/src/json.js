// JSON as payloads travel: numbers digit for digit in both directions.

import { Unsendable } from "./errors.js";

const NUMBER = /(-?(?:0|[1-9][0-9]*))(\.[0-9]+)?([eE][+-]?[0-9]+)?/y;
const SPACE = /[ \t\n\r]*/y;
// Only these texts hold numbers that a double might change, or that `parseFloat` might want.
const DELICATE = /[0-9]{16}|[0-9][eE]/;
const FRACTION = /[0-9]\.[0-9]|[0-9][eE]/;
const DEEPEST = 1000;
// BigInt would take its time over longer ones.
const INTEGER_DIGITS = 4300;
const UTF8 = new TextDecoder("utf-8", { fatal: true });

/** A number as its digits, for what neither `number` nor `BigInt` holds exactly; sent as it is written. */
export class JsonNumber {
  constructor(text) {
    NUMBER.lastIndex = 0;
    if (NUMBER.exec(text)?.[0] !== text) throw new Unsendable(`${text} is no number in JSON`);
    this.text = text;
    Object.freeze(this);
  }

  valueOf() {
    return Number(this.text);
  }

  toString() {
    return this.text;
  }
}

class Reader {
  constructor(text, parseFloat) {
    this.text = text;
    this.at = 0;
    this.parseFloat = parseFloat;
  }

  whole() {
    const value = this.value(0);
    this.space();
    if (this.at < this.text.length) this.fail();
    return value;
  }

  fail() {
    throw new SyntaxError(`this is no JSON at character ${this.at}`);
  }

  space() {
    SPACE.lastIndex = this.at;
    SPACE.exec(this.text);
    this.at = SPACE.lastIndex;
  }

  value(depth) {
    if (depth > DEEPEST) throw new SyntaxError("the JSON is nested too deeply");
    this.space();
    switch (this.text[this.at]) {
      case "{":
        return this.object(depth);
      case "[":
        return this.array(depth);
      case '"':
        return this.string();
      case "t":
        return this.word("true", true);
      case "f":
        return this.word("false", false);
      case "n":
        return this.word("null", null);
      default:
        return this.number();
    }
  }

  word(word, value) {
    if (!this.text.startsWith(word, this.at)) this.fail();
    this.at += word.length;
    return value;
  }

  number() {
    NUMBER.lastIndex = this.at;
    const found = NUMBER.exec(this.text);
    if (found === null) this.fail();
    this.at = NUMBER.lastIndex;
    const [text, digits, fraction, exponent] = found;
    if (fraction !== undefined || exponent !== undefined) return this.fraction(text);
    const value = Number(digits);
    if (Number.isSafeInteger(value)) return value;
    return digits.length <= INTEGER_DIGITS ? BigInt(digits) : new JsonNumber(digits);
  }

  fraction(text) {
    if (this.parseFloat) return this.parseFloat(text);
    const value = Number(text);
    return Number.isFinite(value) ? value : new JsonNumber(text);
  }

  string() {
    const start = this.at;
    for (let end = start + 1; ; end += 1) {
      end = this.text.indexOf('"', end);
      if (end < 0) this.fail();
      let slashes = 0;
      while (this.text[end - 1 - slashes] === "\\") slashes += 1;
      if (slashes % 2 === 0) {
        this.at = end + 1;
        return JSON.parse(this.text.slice(start, this.at));
      }
    }
  }

  /** After an opening bracket: calls `element` until the closing one. */
  elements(close, element) {
    this.at += 1;
    this.space();
    if (this.text[this.at] !== close) {
      for (;;) {
        element();
        this.space();
        if (this.text[this.at] !== ",") break;
        this.at += 1;
      }
      if (this.text[this.at] !== close) this.fail();
    }
    this.at += 1;
  }

  array(depth) {
    const found = [];
    this.elements("]", () => found.push(this.value(depth + 1)));
    return found;
  }

  object(depth) {
    const found = {};
    this.elements("}", () => {
      this.space();
      if (this.text[this.at] !== '"') this.fail();
      const name = this.string();
      this.space();
      if (this.text[this.at] !== ":") this.fail();
      this.at += 1;
      put(found, name, this.value(depth + 1));
    });
    return found;
  }
}

function put(object, name, value) {
  if (name === "__proto__") {
    Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true });
  } else {
    object[name] = value;
  }
}

/**
 * Read JSON; a SyntaxError if it is none. Integers beyond 2^53-1 are BigInt, numbers that would be infinite are
 * JsonNumber, fractions are what `parseFloat` makes of their text, or numbers.
 */
export function parse(text, parseFloat = null) {
  const exact = DELICATE.test(text) || (parseFloat !== null && FRACTION.test(text));
  return exact ? new Reader(text, parseFloat).whole() : JSON.parse(text);
}

/** Read JSON in UTF-8; an Error if it is none. */
export function decode(bytes, parseFloat = null) {
  return parse(UTF8.decode(bytes), parseFloat);
}

/**
 * A value as JSON; Unsendable if it has no such form. Beside what `JSON.stringify` knows: BigInt and JsonNumber become
 * numbers with exactly their digits, a Map becomes an object.
 */
export function stringify(value) {
  return written(value, 0) ?? "null";
}

/** A value as JSON in UTF-8. */
export function encode(value) {
  return Buffer.from(stringify(value), "utf8");
}

function written(value, depth) {
  switch (typeof value) {
    case "string":
    case "boolean":
      return JSON.stringify(value);
    case "number":
      if (!Number.isFinite(value)) throw new Unsendable(`${value} is no number in JSON`);
      return Object.is(value, -0) ? "-0" : String(value);
    case "bigint":
      return value.toString();
    case "undefined":
      return undefined;
    case "object":
      return value === null ? "null" : writtenObject(value, depth);
    default:
      throw new Unsendable(`a ${typeof value} has no form in JSON`);
  }
}

function writtenObject(value, depth) {
  if (depth > DEEPEST) throw new Unsendable("the value contains itself, or is nested too deeply");
  if (value instanceof JsonNumber) return value.text;
  if (typeof value.toJSON === "function") return written(value.toJSON(), depth + 1);
  if (Array.isArray(value)) {
    return `[${Array.from(value, (element) => written(element, depth + 1) ?? "null").join(",")}]`;
  }
  if (value instanceof Set || value instanceof Promise || ArrayBuffer.isView(value)) {
    throw new Unsendable(`a ${value.constructor.name} has no form in JSON`);
  }
  if (value instanceof Number || value instanceof String || value instanceof Boolean) return JSON.stringify(value);
  const members = [];
  for (const [name, member] of value instanceof Map ? value : Object.entries(value)) {
    const text = written(member, depth + 1);
    if (text !== undefined) members.push(`${JSON.stringify(String(name))}:${text}`);
  }
  return `{${members.join(",")}}`;
}
