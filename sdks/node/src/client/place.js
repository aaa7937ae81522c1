// Where the hall is, and what opens it: as told, from the environment, or as a hall on this machine wrote it down.

import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

import { checkedToken, DEFAULT_SERVER } from "../given.js";
import { isObject } from "../wire.js";

const SERVER_FILE = "server.json";

/**
 * Settings as given, else from the environment, else as the hall's data folder has them: `server`, and either a `login`
 * or a `token`. What a hall wrote down opens that hall alone: its token is never sent to another address.
 */
export function find({ server, clientId, secret, token, answerSeconds }) {
  const name = clientId ?? (process.env.HALL_CLIENT_ID ?? "").trim();
  const told = (server || process.env.HALL_SERVER || "").replace(/\/+$/, "");
  if ((token ?? null) === null && name) {
    const key = secret ?? (process.env.HALL_CLIENT_SECRET ?? "").trim();
    if (!key) throw new TypeError("secret: give secret or HALL_CLIENT_SECRET, which belongs to the clientId");
    const fields = { client_id: name, client_secret: key };
    const advice = "check the client's id and its secret (clientId and secret)";
    const login = { path: "/client/auth_token", fields, advice, answerSeconds };
    return { server: told || written().url || DEFAULT_SERVER, login, token: "" };
  }
  if ((secret ?? null) !== null) {
    throw new TypeError("clientId: the secret belongs to one; give clientId or HALL_CLIENT_ID");
  }
  return withToken(told, checkedToken("token", token, "HALL_ADMIN_TOKEN"));
}

function withToken(told, given) {
  if (given !== null && told) return { server: told, login: null, token: given };
  const known = written();
  const found = given ?? (!told || told === known.url ? (known.admin_token ?? null) : null);
  if (found === null) {
    throw new TypeError(
      "nothing to log in with: give clientId and secret (or HALL_CLIENT_ID and HALL_CLIENT_SECRET), " +
        "or the operator's token (or HALL_ADMIN_TOKEN)",
    );
  }
  return { server: told || known.url || DEFAULT_SERVER, login: null, token: found };
}

/** What a hall on this machine wrote into its data folder; empty if there is none that can be read. */
function written() {
  const home = process.env.XDG_DATA_HOME || join(homedir(), ".local", "share");
  const folder = process.env.HALL_DATA || join(home, "hiringhall");
  try {
    const found = JSON.parse(readFileSync(join(folder, SERVER_FILE), "utf8"));
    if (!isObject(found)) return {};
    return Object.fromEntries(Object.entries(found).filter(([, value]) => typeof value === "string"));
  } catch {
    return {};
  }
}
