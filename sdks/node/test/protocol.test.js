// The protocols without sockets and clocks: what is sent, and what an answer means.

import assert from "node:assert/strict";
import { test } from "node:test";

import { backoffSeconds, retryAfterSeconds, waitSeconds } from "../src/backoff.js";
import { Grant } from "../src/login.js";
import * as plans from "../src/plans/errands.js";
import { Session as PlanSession } from "../src/plans/session.js";
import * as services from "../src/services/errands.js";
import { Session } from "../src/services/session.js";
import { Answer, directive, Lost, part } from "../src/wire.js";

const TERMS = { planId: "p", hostname: "h", bootstrapToken: "b", token: null, holdSeconds: 30, answerSeconds: 10 };
const answer = (status, members = {}, headers = {}) =>
  new Answer(status, headers, Buffer.from(JSON.stringify(members)));
const sent = (request) => JSON.parse(request.body.toString());

function planSession() {
  let keys = 0;
  const session = new PlanSession({ ...TERMS, heartbeatSeconds: 30 }, () => `key-${(keys += 1)}`);
  session.identity = { workerId: "w-1", token: "t" };
  return session;
}

function held(session, version = 2) {
  const task = { id: "T/1", plan_id: "p q", version };
  return new plans.Claim(session).receive(answer(200, { task }), 0).hold;
}

test("the wait doubles from half a second to a minute, and dice take away up to half", () => {
  assert.deepEqual(
    [1, 2, 3, 20].map((attempts) => backoffSeconds(attempts, 0)),
    [0.5, 1, 2, 60],
  );
  assert.equal(backoffSeconds(1, 1), 0.25);
});

test("Retry-After is seconds, or a date after the answer's own", () => {
  const after = (text, date) => retryAfterSeconds(answer(503, {}, { "retry-after": text, date }));
  assert.equal(after("7"), 7);
  assert.equal(after("0.25"), 0.25);
  assert.equal(after("Sun, 06 Nov 1994 08:49:47 GMT", "Sun, 06 Nov 1994 08:49:37 GMT"), 10);
  for (const text of ["soon", "-1", "Infinity", "0x10", ""]) assert.equal(after(text), null);
  assert.equal(after("999999"), 3600);
  assert.equal(waitSeconds(9, 0, answer(503, {}, { "retry-after": "2" })), 2);
});

test("a claim repeats its key, and what it brings is held and named", () => {
  const session = planSession();
  const claim = new plans.Claim(session);
  const first = claim.request();
  assert.equal(claim.receive(new Lost("reset"), 0).kind, "again");
  assert.deepEqual(claim.request().headers, first.headers);
  held(session);
  assert.equal(new plans.Heartbeat(session).request().headers["Hall-Holding"], "p%20q/T%2F1@2");
  assert.equal(
    new plans.Claim(session).receive(answer(200, { task: { id: "T/1", plan_id: "p q", version: 2 } }), 0).kind,
    "skipped",
  );
  for (const version of [true, "2", 1.5, 2 ** 53]) {
    assert.equal(new plans.Claim(session).receive(answer(200, { task: { id: "x", version } }), 0).kind, "again");
  }
});

test("a settled hold is forgotten once the hall has answered, whatever it said", () => {
  for (const [status, kind] of [
    [200, "done"],
    [409, "skipped"],
    [404, "skipped"],
    [403, "crash"],
  ]) {
    const session = planSession();
    const settle = new plans.Settle(session, held(session), "complete");
    assert.equal(settle.receive(answer(503), 0).kind, "again");
    assert.equal(session.holds.size, 1);
    assert.equal(settle.receive(answer(status), 0).kind, kind);
    assert.equal(session.holds.size, 0);
  }
});

test("a reason that is too long is sent shorter, under another key", () => {
  const session = planSession();
  const settle = new plans.Settle(session, held(session), "fail", "x".repeat(10_000));
  const first = settle.request();
  assert.equal(sent(first).reason.length, 4096);
  assert.equal(settle.receive(answer(413), 0).kind, "again");
  assert.equal(sent(settle.request()).reason.length, 512);
  assert.notEqual(settle.request().headers["Idempotency-Key"], first.headers["Idempotency-Key"]);
});

test("directives count from the hall's own answers only", () => {
  const session = planSession();
  const hold = held(session);
  const headers = { "hall-directive": "quiet; cancel=p%20q/T%2F1,other; unknown" };
  new plans.Heartbeat(session).receive(answer(502, {}, headers), 0);
  assert.equal(session.quiet, false);
  new plans.Heartbeat(session).receive(answer(200, { ok: true }, headers), 0);
  assert.ok(session.quiet && hold.cancelled && !session.terminated);
  assert.deepEqual(directive("cancel=a%2Fb, %zz").requests, ["a/b", "%zz"]);
});

test("identifiers are encoded part by part", () => {
  assert.equal(part("a/b c%é?#'*"), "a%2Fb%20c%25%C3%A9%3F%23%27%2a");
  assert.equal(part("\ud800"), "%EF%BF%BD");
});

test("a service worker renews a refused token twice, then crashes", () => {
  const heartbeat = new services.Heartbeat(new Session({ workerId: "w", service: "s", answerSeconds: 1 }, () => "k"));
  assert.deepEqual(heartbeat.receive(answer(401), 0), { kind: "renew", logIn: false });
  assert.deepEqual(heartbeat.receive(answer(401), 0), { kind: "renew", logIn: true });
  assert.equal(heartbeat.receive(answer(401), 0).error.name, "Unauthorized");
});

test("superseded is a crash, another 409 is not", () => {
  const session = new Session({ workerId: "w", service: "s", answerSeconds: 1 }, () => "k");
  const superseded = answer(409, { error_code: "worker_superseded" });
  assert.equal(new services.Drain(session, 1, true).receive(superseded, 0).error.name, "Superseded");
  assert.equal(new services.Drain(session, 1, true).receive(answer(409), 0).kind, "again");
});

test("an answer that the hall does not take is replaced once, by an error", () => {
  const session = new Session({ workerId: "w", service: "s", answerSeconds: 1 }, () => "k");
  const hold = { requestId: "r-1", method: "m", cancelled: false };
  const respond = new services.Respond(session, hold, {
    status: "success",
    errorText: null,
    result: "12345678901234567890",
  });
  assert.match(respond.request("t").body.toString(), /"result":12345678901234567890}$/);
  assert.equal(respond.receive(answer(413), 0).kind, "again");
  assert.equal(sent(respond.request("t")).status, "error");
  assert.equal(respond.receive(answer(413), 0).kind, "skipped");
});

test("a token is renewed five minutes ahead, and used to its end if that fails", () => {
  const grant = new Grant({ path: "/", fields: { secret: "s" }, advice: "", answerSeconds: 1 });
  const body = (grantRequest) => new URLSearchParams(grantRequest.body.toString());
  assert.equal(body(grant.request()).get("grant_type"), "client_credentials");
  grant.receive(answer(200, { access_token: "t", refresh_token: "r", expires_in: 3600 }), 0, 0);
  assert.ok(!grant.wanted(3299) && grant.wanted(3300) && grant.usable(3599) && !grant.usable(3600));
  assert.equal(body(grant.request()).get("refresh_token"), "r");
  assert.equal(grant.receive(answer(503), 0, 3300).kind, "again");
  assert.ok(!grant.wanted(3300.1) && grant.usable(3300.1));
  assert.deepEqual(grant.receive(answer(401), 0, 3301).afterSeconds, 0);
  assert.equal(body(grant.request()).get("secret"), "s");
  assert.equal(grant.receive(answer(401), 0, 3301).error.name, "Unauthorized");
});
