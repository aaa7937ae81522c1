// Workers against a scripted hall: signals of AbortControllers, ends of runs, settings.

import assert from "node:assert/strict";
import { once } from "node:events";
import net from "node:net";
import { test } from "node:test";

import { Cancelled, PlanWorker, Release, ServiceWorker, Unauthorized } from "../src/index.js";
import { Packets } from "../src/services/probe.js";
import { parked, serve, SERVICE } from "./scripted_server.js";

const quiet = () => {};
const service = (url, more = {}) =>
  new ServiceWorker({ server: url, service: "math", secret: "s", workerId: "w", log: quiet, ...more });

/** Answers of drains: these, one after another, then nothing. */
const drains =
  (...answers) =>
  ({ response }) =>
    answers.shift()?.({ response }) ?? parked();

test("a cancelled call aborts its signal, and its answer is still given", { timeout: 10_000 }, async (context) => {
  const reasons = [];
  const responded = deferred();
  const hall = await serve(context, {
    ...SERVICE,
    "GET /worker/messages": drains(() => [200, [{ request_id: "r-1", method: "wait", params: null }]]),
    "GET /worker/heartbeat/w": () => [200, true, { "Hall-Directive": "cancel=r-1" }],
    "POST /worker/response": ({ body }) => {
      responded.resolve(JSON.parse(body));
      return [200, {}];
    },
  });
  const worker = service(hall.url, { heartbeatSeconds: 0.05 });
  worker.method("wait", async (params, { signal }) => {
    await once(signal, "abort");
    reasons.push(signal.reason);
    throw signal.reason;
  });
  const running = worker.run({ signals: false });
  assert.deepEqual(await responded.promise, {
    request_id: "r-1",
    status: "failed",
    error_text: "math/wait: cancelled",
    result: null,
  });
  assert.ok(reasons[0] instanceof Cancelled);
  assert.equal(worker.settings.color, "red");
  worker.stop();
  await running;
  assert.equal(hall.named("PUT /worker/notify_worker_shutdown/w").length, 1);
});

test("an AbortSignal ends a run, and close waits for its end", { timeout: 10_000 }, async (context) => {
  const hall = await serve(context, { ...SERVICE, "GET /worker/messages": parked });
  const controller = new AbortController();
  const running = service(hall.url)
    .method("m", () => 1)
    .run({ signals: false, signal: controller.signal });
  setImmediate(() => controller.abort());
  await running;
  const worker = service(hall.url).method("m", () => 1);
  const second = worker.run({ signals: false });
  await assert.rejects(worker.run(), /running already/);
  await worker[Symbol.asyncDispose]();
  await second;
});

test("a run leaves no signal listener behind, also when it fails", { timeout: 10_000 }, async (context) => {
  const hall = await serve(context, { "POST /worker/auth_token": () => [401, { error: "invalid_client" }] });
  const before = process.listenerCount("SIGTERM");
  await assert.rejects(
    service(hall.url)
      .method("m", () => 1)
      .run(),
    (error) => {
      assert.ok(error instanceof Unauthorized);
      assert.doesNotMatch(error.message, /auth_secret/);
      return true;
    },
  );
  assert.equal(process.listenerCount("SIGTERM"), before);
});

test("a plan's tasks are completed, failed and released as the handler ends", { timeout: 10_000 }, async (context) => {
  const tasks = ["done", "fail", "release"].map((id, index) => ({
    id,
    plan_id: "p",
    version: index + 2,
    description: id,
  }));
  const settled = [];
  const settle =
    (verb) =>
    ({ body }) => {
      settled.push([verb, JSON.parse(body).reason ?? null]);
      return [200, {}];
    };
  const hall = await serve(context, {
    "POST /workers/register": () => [201, { worker_id: "w-1", token: "t" }],
    "POST /tasks/claim": () => (tasks.length > 0 ? [200, { task: tasks.shift() }] : [204]),
    "POST /tasks/done/complete": settle("complete"),
    "POST /tasks/fail/fail": settle("fail"),
    "POST /tasks/release/release": settle("release"),
  });
  const worker = new PlanWorker({ server: hall.url, plan: "p", bootstrapToken: "b", log: quiet });
  await worker.run(
    async (task) => {
      assert.ok(task.signal instanceof AbortSignal);
      if (task.description === "fail") throw new TypeError("no such thing");
      if (task.description === "release") throw new Release("later");
    },
    { untilEmpty: true, signals: false },
  );
  assert.deepEqual(settled, [
    ["complete", null],
    ["fail", "no such thing"],
    ["release", "later"],
  ]);
});

test("settings that are wrong are named", () => {
  const plan = (more) => () => new PlanWorker({ plan: "p", bootstrapToken: "b", ...more });
  assert.throws(plan({ concurency: 2 }), /there is no option concurency/);
  assert.throws(plan({ plan: "" }), /^TypeError: plan:/);
  assert.throws(plan({ concurrency: 0 }), /^RangeError: concurrency:/);
  assert.throws(plan({ holdSeconds: 56 }), /at most 55/);
  assert.throws(plan({ bootstrapToken: "a b" }), /^TypeError: bootstrapToken:/);
  assert.throws(plan({ server: "localhost:8400" }), /must look like http/);
  assert.throws(plan({ server: "http://user@host" }), /no user name/);
  const worker = service("http://127.0.0.1:1");
  assert.throws(() => worker.method("m", { params: { a: "int" } }, () => 1), /a is no int/);
  assert.throws(() => worker.method("m", { param: {} }, () => 1), /no option param/);
  worker.method("m", () => 1);
  assert.throws(() => worker.method("m", () => 1), /there already/);
});

test("a Lazy worker acknowledges a packet in any portions, and asks", { timeout: 10_000 }, async (context) => {
  const registered = deferred();
  let drained = 0;
  const asked = deferred();
  const hall = await serve(context, {
    ...SERVICE,
    "POST /worker/registration": ({ body }) => {
      registered.resolve(JSON.parse(body));
      return [200, { heartbeat_delay: "30" }];
    },
    "GET /worker/messages": () => {
      drained += 1;
      if (drained === 2) asked.resolve();
      return [200, []];
    },
  });
  const worker = service(hall.url, { lazy: true, probeHost: "127.0.0.1" }).method("m", () => 1);
  const running = worker.run({ signals: false });
  const { ip, port, run_mode: mode } = await registered.promise;
  assert.deepEqual([ip, mode], ["127.0.0.1", "Lazy"]);
  const socket = net.connect(port, ip);
  socket.write('{"PacketId":"7","Message":{"Message');
  socket.write('Text":"pull_signal","Parameters":null}}');
  assert.equal((await once(socket, "data")).toString(), "ACK:7");
  await asked.promise;
  socket.destroy();
  await worker.close();
  await running;
});

test("packets are read from any portions, and nothing else is", () => {
  const packet = '{"PacketId":"a}","Message":{"MessageText":"pull_signal","Parameters":"\\"{"}}';
  const packets = new Packets();
  const found = [...`${packet} ${packet}`].flatMap((letter) => packets.feed(Buffer.from(letter)));
  assert.deepEqual(found, ["a}", "a}"]);
  for (const text of ["[]", "{}", '{"PacketId":"1","Message":{"MessageText":"run"}}', `{"${"x".repeat(5000)}`, "é"]) {
    assert.throws(() => new Packets().feed(Buffer.from(text)), Error, text);
  }
});

function deferred() {
  const found = {};
  found.promise = new Promise((resolve) => {
    found.resolve = resolve;
  });
  return found;
}
