// What a method takes: `params` checked before it runs, so that what does not fit is answered in words.

import { JsonNumber } from "../json.js";
import { reasonOf } from "../errors.js";
import { isObject } from "../wire.js";

const isNumber = (value) => ["number", "bigint"].includes(typeof value) || value instanceof JsonNumber;
const KINDS = {
  any: () => true,
  integer: (value) => typeof value === "bigint" || Number.isInteger(value),
  number: isNumber,
  string: (value) => typeof value === "string",
  boolean: (value) => typeof value === "boolean",
  array: Array.isArray,
  object: (value) => isObject(value) && !(value instanceof JsonNumber),
};

/** `params` do not fit; the text says why. */
export class Misfit extends Error {}

/**
 * A function that turns `params` into what the method gets, or throws Misfit. `declared` is an object of kinds by name
 * (`{ a: "integer", b: "string?" }`; a question mark: may be missing), a function that checks or converts, or null.
 * A TypeError says what is wrong with the declaration.
 */
export function reader(declared) {
  if (declared === null || declared === undefined) return (params) => params;
  if (typeof declared === "function") return (params) => checkedBy(declared, params);
  if (!isObject(declared)) throw new TypeError("params: an object of kinds, or a function");
  const fields = Object.entries(declared).map(([name, kind]) => {
    const optional = typeof kind === "string" && kind.endsWith("?");
    const known = optional ? kind.slice(0, -1) : kind;
    if (!Object.hasOwn(KINDS, known)) {
      throw new TypeError(`params: ${name} is no ${kind}; there are ${Object.keys(KINDS).join(", ")}`);
    }
    return { name, kind: known, optional };
  });
  return (params) => members(fields, params);
}

function checkedBy(check, params) {
  try {
    return check(params);
  } catch (error) {
    throw new Misfit(reasonOf(error), { cause: error });
  }
}

function members(fields, params) {
  const named = byName(fields, params);
  const shown = fields.map(({ name, kind, optional }) => `${name}${optional ? "?" : ""}: ${kind}`);
  const takes = `it takes ${shown.join(", ") || "nothing"}`;
  for (const name of Object.keys(named)) {
    if (!fields.some((field) => field.name === name)) throw new Misfit(`there is no parameter '${name}'; ${takes}`);
  }
  for (const { name, kind, optional } of fields) {
    if (!Object.hasOwn(named, name)) {
      if (optional) continue;
      throw new Misfit(`parameter '${name}' is missing; ${takes}`);
    }
    if (!KINDS[kind](named[name])) throw new Misfit(`parameter '${name}' is no ${kind}; ${takes}`);
  }
  return named;
}

/** Params by name; the values of an array are in the order of the declaration. */
function byName(fields, params) {
  if (params === null) return {};
  if (isObject(params) && !(params instanceof JsonNumber)) return params;
  if (!Array.isArray(params)) throw new Misfit("params are an object by name, or an array in order");
  if (params.length > fields.length) throw new Misfit(`${params.length} values for ${fields.length} parameters`);
  return Object.fromEntries(params.map((value, index) => [fields[index].name, value]));
}
