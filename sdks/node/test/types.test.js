// The types name exactly what there is.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import * as all from "../src/index.js";

const text = readFileSync(new URL("../src/index.d.ts", import.meta.url), "utf8");
const CLASS = /export class (\w+)[^{]*\{(\}|[^]*?\n\})/g;
const MEMBER = /^ {2}(?:readonly )?(\w+)(?:<[^>]*>)?[(?:]/gm;

test("every exported name has its type, and there is no other", () => {
  const declared = [...text.matchAll(CLASS)].map(([, name]) => name);
  assert.deepEqual(declared.sort(), Object.keys(all).sort());
});

test("the methods and properties of every class have their types, and there is no other", () => {
  const shown = [
    "CallFailed",
    "Refused",
    "CallPending",
    "Unsendable",
    "JsonNumber",
    "Feedback",
    "Outcome",
    "PendingCall",
  ];
  for (const [, name, body] of text.matchAll(CLASS)) {
    const declared = new Set([...body.matchAll(MEMBER)].map(([, member]) => member));
    declared.delete("constructor");
    const own = Object.getOwnPropertyNames(all[name].prototype).filter((member) => member !== "constructor");
    for (const member of own.filter((one) => one !== "keep")) {
      assert.ok(declared.has(member), `${name}.${member} has no type`);
    }
    if (shown.includes(name)) continue; // their properties are set when one is made
    const made =
      name === "Task" ? new all.Task("p", "t", 1, {}, null) : name === "Call" ? new all.Call("s", {}, null) : null;
    for (const member of declared) {
      assert.ok(own.includes(member) || (made !== null && member in made), `there is no ${name}.${member}`);
    }
  }
});
