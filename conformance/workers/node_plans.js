// The verification worker of the Node.js SDK for plans: each task says in its description what to do.

import { setTimeout as pause } from "node:timers/promises";

import { PlanWorker, Release } from "../../sdks/node/src/index.js";

const { env } = process;
const seconds = (name, usual) => Number(env[name] ?? usual);

const worker = new PlanWorker({
  plan: env.HALL_PLAN,
  concurrency: seconds("HALL_CONCURRENCY", 1),
  holdSeconds: seconds("HALL_HOLD_SECONDS", 30),
  answerSeconds: seconds("HALL_ANSWER_SECONDS", 10),
  heartbeatSeconds: seconds("HALL_HEARTBEAT_SECONDS", 30),
  graceSeconds: seconds("HALL_GRACE_SECONDS", 0),
  log: (level, text) => console.log(`${new Date().toISOString()} ${level} ${text}`),
});

await worker.run(async ({ description, signal }) => {
  const [word] = description.split(" ", 1);
  const text = description.slice(word.length + 1);
  if (word === "fail" || word === "crash") throw new Error(text);
  if (word === "release") throw new Release(text);
  if (word === "slow") await pause(Number(text) * 1000, undefined, { signal });
  if (word === "stubborn") await pause(Number(text) * 1000);
});
