// The verification worker of the Node.js SDK for services.

import { setTimeout as pause } from "node:timers/promises";

import { Fail, ServiceWorker } from "../../sdks/node/src/index.js";

const { env } = process;
const seconds = (name, usual) => Number(env[name] ?? usual);

const worker = new ServiceWorker({
  service: env.HALL_SERVICE,
  workerId: env.HALL_WORKER_ID,
  lazy: env.HALL_RUN_MODE === "Lazy",
  probeHost: "127.0.0.1",
  concurrency: seconds("HALL_CONCURRENCY", 1),
  holdSeconds: seconds("HALL_HOLD_SECONDS", 30),
  answerSeconds: seconds("HALL_ANSWER_SECONDS", 10),
  heartbeatSeconds: seconds("HALL_HEARTBEAT_SECONDS", 30),
  graceSeconds: env.HALL_GRACE_SECONDS === undefined ? null : Number(env.HALL_GRACE_SECONDS),
  log: (level, text) => console.log(`${new Date().toISOString()} ${level} ${text}`),
});

worker
  .method("echo", (params) => params)
  .method("add", { params: { a: "integer", b: "integer" } }, ({ a, b }) => BigInt(a) + BigInt(b))
  .method("fail", { params: { text: "string" } }, ({ text }) => {
    throw new Fail(text);
  })
  .method("crash", { params: { text: "string" } }, ({ text }) => {
    throw new Error(text);
  })
  .method("slow", { params: { seconds: "number" } }, async (params, { signal }) => {
    await pause(params.seconds * 1000, undefined, { signal });
    return "done";
  })
  .method("stubborn", { params: { seconds: "number" } }, async (params) => {
    await pause(params.seconds * 1000);
    return "done";
  })
  .method("feedback", { params: { items: "array" } }, ({ items }, call) => {
    for (const item of items) call.feedback(item);
    return items.length;
  })
  .method("settings", { params: {} }, () => worker.settings);

await worker.run();
