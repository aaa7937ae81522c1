// A client against a scripted hall: waiting, feedback that goes on, tokens, cancelling, patience.

import assert from "node:assert/strict";
import { test } from "node:test";

import { CallFailed, CallPending, Client, Refused, Unauthorized, Unreachable } from "../src/index.js";
import { parked, serve } from "./scripted_server.js";

const client = (url, more = {}) => new Client({ server: url, token: "operator", ...more });
const success = (result) => [200, { request_id: "r-1", status: "success", result, error_text: null }];
const pending = () => [202, { request_id: "r-1", status: "queued" }];

test("a call waits until it has ended, over several requests", { timeout: 10_000 }, async (context) => {
  const looks = [pending, () => success({ sum: 3 })];
  const hall = await serve(context, {
    "POST /client/requests": pending,
    "GET /client/requests/r-1": () => looks.shift()(),
  });
  const found = await client(hall.url).call("math/add", { a: 1n, b: 2n ** 64n }, { priority: 5, retries: undefined });
  assert.deepEqual(found, { sum: 3 });
  const [call] = hall.requests;
  assert.equal(call.body, '{"method":"math/add","params":{"a":1,"b":18446744073709551616},"priority":5,"wait":30}');
  assert.equal(call.headers.authorization, "Bearer operator");
});

test(
  "a call that does not end with success is CallFailed, one that does not end is CallPending",
  { timeout: 10_000 },
  async (context) => {
    const hall = await serve(context, {
      "POST /client/requests": ({ body }) =>
        JSON.parse(body).method === "a/slow"
          ? pending()
          : [200, { request_id: "r-1", status: "failed", result: null, error_text: "no" }],
      "GET /client/requests/r-1": pending,
    });
    const hallClient = client(hall.url);
    await assert.rejects(hallClient.call("a/b"), (error) => {
      assert.ok(error instanceof CallFailed);
      assert.deepEqual([error.status, error.errorText, error.requestId], ["failed", "no", "r-1"]);
      return true;
    });
    await assert.rejects(hallClient.call("a/slow", null, { timeoutSeconds: 0.05 }), (error) => {
      assert.ok(error instanceof CallPending);
      assert.equal(error.pending.requestId, "r-1");
      return true;
    });
    assert.equal(await hallClient.pending("r-1").outcome(), null);
  },
);

test("a lost answer is asked for again under the same key", { timeout: 10_000 }, async (context) => {
  let lost = 1;
  const hall = await serve(context, {
    "POST /client/requests": ({ response }) => {
      if (lost-- > 0) {
        response.socket.destroy();
        return undefined;
      }
      return success(1);
    },
  });
  assert.equal(await client(hall.url).call("a/b"), 1);
  const keys = hall.requests.map((request) => request.headers["idempotency-key"]);
  assert.equal(keys.length, 2);
  assert.equal(keys[0], keys[1]);
});

test("feedback goes on after the last item when its connection breaks", { timeout: 10_000 }, async (context) => {
  const event = (id, content) =>
    `id: ${id}\nevent: feedback\ndata: {"ft":"progress","fc":${JSON.stringify(content)}}\n\n`;
  const parts = [
    event(1, { percent: 10, text: "a\nb" }) + ": comment\n\nid: 2\nevent: feedb",
    `${event(2, "two")}event: outcome\ndata: {"status":"success","result":12345678901234567890}\n\n`,
  ];
  const hall = await serve(context, {
    "GET /client/requests/r-1/feedback": ({ response }) => {
      response.writeHead(200, { "Content-Type": "text/event-stream" });
      response.write(parts.shift(), () => response.socket.destroy());
    },
  });
  const call = client(hall.url).pending("r-1");
  const said = [];
  for await (const one of call) said.push([one.number, one.type, one.percent, one.text]);
  assert.deepEqual(said, [
    [1, "progress", 10, "a\nb"],
    [2, "progress", null, "two"],
  ]);
  assert.deepEqual(
    hall.requests.map((request) => request.headers["last-event-id"]),
    [undefined, "1"],
  );
  assert.equal(await call.result(), 12345678901234567890n);
});

test("a refused token is renewed, then had anew by the secret, then an error", { timeout: 10_000 }, async (context) => {
  const hall = await serve(context, {
    "POST /client/auth_token": () => [200, { access_token: "a", refresh_token: "r", expires_in: 3600 }],
    "GET /client/methods": () => [401, { error_code: "missing_or_invalid_bearer", detail: "no" }],
  });
  const shop = new Client({ server: hall.url, clientId: "shop", secret: "1+1=2&more" });
  await assert.rejects(shop.methods(), Unauthorized);
  const logins = hall.named("POST /client/auth_token").map(({ body }) => new URLSearchParams(body).get("grant_type"));
  assert.deepEqual(logins, ["client_credentials", "refresh_token", "client_credentials"]);
  assert.equal(new URLSearchParams(hall.requests[0].body).get("client_secret"), "1+1=2&more");
});

test("an AbortSignal ends the waiting, and a closed client fails at once", { timeout: 10_000 }, async (context) => {
  const hall = await serve(context, { "POST /client/requests": parked });
  const hallClient = client(hall.url);
  await assert.rejects(hallClient.call("a/b", {}, { signal: AbortSignal.timeout(50) }), { name: "TimeoutError" });
  await hallClient.close();
  await assert.rejects(hallClient.call("a/b"), /this client is closed/);
});

test(
  "what no repetition mends is told at once, and what lasts too long is Unreachable",
  { timeout: 10_000 },
  async (context) => {
    const hall = await serve(context, {
      "POST /client/requests": () => [503, { error_code: "no_worker", detail: "nobody" }],
      "GET /client/methods": () => [503, { error_code: "unavailable" }, { "Retry-After": "60" }],
      "DELETE /client/requests/r-1": () => [409, { error_code: "already_finished" }],
      "GET /client/requests/r-1": () => success(1),
    });
    const hallClient = client(hall.url, { patienceSeconds: 1 });
    await assert.rejects(hallClient.call("a/b"), (error) => error instanceof Refused && error.code === "no_worker");
    await assert.rejects(hallClient.methods(), Unreachable);
    assert.equal(await hallClient.pending("r-1").cancel(), "success");
    await assert.rejects(hallClient.call("a/b", {}, { prio: 1 }), /there is no option prio/);
    assert.throws(() => new Client({ server: hall.url, secret: "s" }), /^TypeError: clientId:/);
  },
);
