// Whole processes: they end by themselves, and on signals within two seconds.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { test } from "node:test";

import { parked, serve, SERVICE } from "./scripted_server.js";

const HEAD = `import { Client, PlanWorker, ServiceWorker } from ${JSON.stringify(new URL("../src/index.js", import.meta.url).href)};
const server = process.env.SERVER;
const service = () => new ServiceWorker({ server, service: "math", secret: "s", workerId: "w" });
`;

/** Run a program; resolves to its exit status, its signal, and what it printed. `begun` gets the process. */
async function program(context, url, text, begun = () => {}) {
  const child = spawn(process.execPath, ["--input-type=module", "-e", HEAD + text], {
    env: { PATH: process.env.PATH, SERVER: url },
    stdio: ["ignore", "pipe", "pipe"],
  });
  context.after(() => child.kill("SIGKILL"));
  let printed = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (data) => {
      printed += data;
    });
  }
  begun(child);
  const [status, signal] = await once(child, "close");
  return { status, signal, printed };
}

/** A service hall that hands out one call, and tells when. */
function oneCall(method, handed) {
  let left = 1;
  return {
    ...SERVICE,
    "GET /worker/messages": () => {
      if (left-- <= 0) return parked();
      setTimeout(handed, 200);
      return [200, [{ request_id: "r-1", method, params: null }]];
    },
    "POST /worker/response": () => [200, {}],
  };
}

test("after stop a process ends by itself: no socket and no timer is left", { timeout: 20_000 }, async (context) => {
  const hall = await serve(
    context,
    oneCall("stop", () => {}),
  );
  const ended = await program(
    context,
    hall.url,
    `const worker = service();
     worker.method("stop", () => { worker.stop(); return 1; });
     await worker.run();
     console.log("over", process.getActiveResourcesInfo().filter((name) => !/Pipe|TTY/.test(name)).join());`,
  );
  assert.equal(ended.printed, "over \n");
  assert.equal(ended.status, 0);
  assert.equal(JSON.parse(hall.named("POST /worker/response")[0].body).result, 1);
});

test("a client that is not closed does not keep its process alive", { timeout: 20_000 }, async (context) => {
  const hall = await serve(context, {
    "POST /client/requests": () => [200, { request_id: "r", status: "success", result: 3 }],
  });
  const text = `console.log(await new Client({ server, token: "t" }).call("math/add"));`;
  const began = performance.now();
  assert.deepEqual(await program(context, hall.url, text), { status: 0, signal: null, printed: "3\n" });
  assert.ok(performance.now() - began < 3000);
});

for (const signal of ["SIGINT", "SIGTERM"]) {
  test(
    `${signal} ends a plan worker whose handler hears nothing within two seconds`,
    { timeout: 20_000 },
    async (context) => {
      let child = null;
      let began = null;
      const tasks = [{ id: "T-1", plan_id: "p", version: 2 }];
      const hall = await serve(context, {
        "POST /workers/register": () => [201, { worker_id: "w-1", token: "t" }],
        "POST /tasks/claim": () => {
          if (tasks.length === 0) return parked();
          setTimeout(() => {
            began = performance.now();
            child.kill(signal);
          }, 300);
          return [200, { task: tasks.shift() }];
        },
        "POST /tasks/T-1/release": () => [200, {}],
      });
      const text = `await new PlanWorker({ server, plan: "p", bootstrapToken: "b" }).run(
      () => new Promise((resolve) => setTimeout(resolve, 60_000)));`;
      const ended = await program(context, hall.url, text, (process) => {
        child = process;
      });
      assert.deepEqual(ended, { status: 0, signal: null, printed: "" });
      assert.ok(performance.now() - began < 2000);
      assert.equal(hall.named("POST /tasks/T-1/release").length, 1);
    },
  );
}

test("a second signal ends the process at once", { timeout: 20_000 }, async (context) => {
  let child = null;
  const answers = oneCall("wait", () => child.kill("SIGTERM"));
  answers["PUT /worker/notify_worker_shutdown/w"] = () => {
    setTimeout(() => child.kill("SIGTERM"), 50);
    return [200, {}];
  };
  const hall = await serve(context, answers);
  const text = `await service().method("wait", () => new Promise((resolve) => setTimeout(resolve, 60_000))).run();`;
  const ended = await program(context, hall.url, text, (process) => {
    child = process;
  });
  assert.equal(ended.signal, "SIGTERM");
});

test("heartbeats go on while a handler awaits", { timeout: 20_000 }, async (context) => {
  let child = null;
  let beats = 0;
  const answers = oneCall("wait", () => {});
  answers["GET /worker/heartbeat/w"] = ({ request }) => {
    beats += 1;
    if (beats === 5) child.kill("SIGKILL");
    assert.equal(request.headers["hall-holding"], "r-1");
    return [200, true];
  };
  answers["POST /worker/registration"] = () => [200, { heartbeat_delay: "0.1" }];
  const hall = await serve(context, answers);
  const text = `await service().method("wait", () => new Promise((resolve) => setTimeout(resolve, 60_000))).run();`;
  await program(context, hall.url, text, (process) => {
    child = process;
  });
  assert.equal(beats, 5);
});
