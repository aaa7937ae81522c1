// A hall that answers as a test says.

import { once } from "node:events";
import http from "node:http";

/**
 * Serves `answers`: an object of functions by `METHOD /path` (without the query), each given the request and its body;
 * what it returns is `[status, members, headers?]`, or nothing if it has answered through `response` itself.
 */
export async function serve(context, answers) {
  const requests = [];
  const server = http.createServer(async (request, response) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const [path] = request.url.split("?");
    const name = `${request.method} ${path}`;
    const body = Buffer.concat(chunks).toString();
    requests.push({ name, url: request.url, headers: request.headers, body });
    const found = await answers[name]?.({ request, response, body });
    if (found === undefined && answers[name] !== undefined) return;
    const [status, members, headers] = found ?? [404, { error_code: "not_found" }];
    response.writeHead(status, { "Content-Type": "application/json", ...headers });
    response.end(members === undefined ? "" : JSON.stringify(members));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  context.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${server.address().port}`;
  return { url, requests, named: (name) => requests.filter((request) => request.name === name) };
}

/** A request that is never answered. */
export const parked = () => new Promise(() => {});

/** What a hall answers to a service worker that logs in and registers. */
export const SERVICE = {
  "POST /worker/auth_token": () => [200, { access_token: "a", refresh_token: "r", expires_in: 3600 }],
  "POST /worker/registration": () => [200, { heartbeat_delay: "30", color: "red" }],
  "PUT /worker/notify_worker_shutdown/w": () => [200, {}],
};
