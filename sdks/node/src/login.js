// Tokens that are had for a secret, renewed in time, and had anew when one is refused.
//
// `Grant` is the exchange of secrets for tokens without sockets and clock; `Keeper` is one grant that all requests of a
// worker or a client share.

import { waitSeconds } from "./backoff.js";
import { answerCode, explain, SUPERSEDED } from "./envelope.js";
import { Refused, Superseded, Unauthorized } from "./errors.js";
import { again, crash, DONE } from "./steps.js";
import { Connection } from "./transport.js";
import { now } from "./waiting.js";
import { FORM, form, Lost, request, sendable } from "./wire.js";

// A token is renewed so long before its end, or halfway if it does not last twice as long.
const AHEAD_SECONDS = 300;
const USUAL_LIFETIME_SECONDS = 3600;
export const WAITING = "waiting before the next login";

/** The tokens of one login (`path`, `fields`, `advice`, `answerSeconds`). Times are seconds of one clock. */
export class Grant {
  #login;
  #refresh = null;
  #renewAt = 0;
  #endsAt = 0;
  #nextAttemptAt = 0;
  #attempts = 0;

  constructor(login) {
    this.#login = login;
    this.token = null;
  }

  usable(time) {
    return this.token !== null && time < this.#endsAt;
  }

  /** Whether a token is to be had now: there is no usable one, or the time to renew it has come. */
  wanted(time) {
    return !this.usable(time) || (time >= this.#renewAt && time >= this.#nextAttemptAt);
  }

  pauseSeconds(time) {
    return Math.max(0, this.#nextAttemptAt - time);
  }

  /** The hall does not accept this token. `logIn`: neither is what the refresh token brings of any use. */
  refuse(token, logIn) {
    if (token !== this.token) return;
    this.token = null;
    this.#nextAttemptAt = 0;
    if (logIn) this.#refresh = null;
  }

  /** The request that brings a token: by the refresh token if there is one, else by the secret. */
  request() {
    const { path, fields, answerSeconds } = this.#login;
    const sent =
      this.#refresh === null
        ? { grant_type: "client_credentials", ...fields }
        : { grant_type: "refresh_token", refresh_token: this.#refresh };
    return request("login", "POST", path, "", form(sent), answerSeconds, { contentType: FORM });
  }

  /** Say what the reply to the last request means. `dice` is a random number of [0, 1). */
  receive(reply, dice, time) {
    this.#attempts += 1;
    if (reply instanceof Lost) return this.#again(reply.why, dice, time);
    const { status } = reply;
    if (status >= 200 && status < 300) {
      return this.#accept(reply, time) ? DONE : this.#again("the answer has no access_token", dice, time);
    }
    if ([408, 425, 429].includes(status) || status < 300 || status >= 500) {
      return this.#again(explain(reply), dice, time, reply);
    }
    if (answerCode(reply) === SUPERSEDED) return crash(new Superseded(`login: ${explain(reply)}`));
    if (this.#refresh !== null) {
      this.#refresh = null;
      return again(0, `the refresh token is dead (${explain(reply)}); logging in again`);
    }
    return crash(this.#refusal(reply));
  }

  #again(why, dice, time, answer = null) {
    const seconds = waitSeconds(this.#attempts, dice, answer);
    this.#nextAttemptAt = time + seconds;
    return again(seconds, why);
  }

  #refusal(answer) {
    const told = `login: ${explain(answer)}`;
    if (answer.status === 401 || answer.status === 403) return new Unauthorized(`${told}; ${this.#login.advice}`);
    return new Refused(`${told}; is the address of the server right?`, answer.status, answerCode(answer) || null);
  }

  #accept(answer, time) {
    const { access_token: token, refresh_token: refresh, expires_in: told } = answer.members();
    if (typeof token !== "string" || !sendable(token)) return false;
    const lifetime = typeof told === "number" && told > 0 ? told : USUAL_LIFETIME_SECONDS;
    this.token = token;
    this.#refresh = typeof refresh === "string" && refresh ? refresh : null;
    this.#renewAt = time + lifetime - Math.min(AHEAD_SECONDS, lifetime / 2);
    this.#endsAt = time + lifetime;
    this.#attempts = 0;
    this.#nextAttemptAt = 0;
    return true;
  }
}

/** One grant for many requests: one attempt renews it while the others go on with the token that still lasts. */
export class Keeper {
  #grant;
  #connection;
  #renewing = null;

  constructor(login, address) {
    this.#grant = new Grant(login);
    this.#connection = new Connection(address, 1);
  }

  /** The present token; empty without one. */
  get token() {
    return this.#grant.token ?? "";
  }

  /** Tell that the hall does not accept this token. */
  refuse(token, logIn) {
    this.#grant.refuse(token, logIn);
  }

  /** See to it that there is a usable token, with one attempt at most. */
  async ready() {
    if (!this.#grant.wanted(now())) return DONE;
    if (this.#renewing === null) {
      this.#renewing = this.#renewed().finally(() => {
        this.#renewing = null;
      });
    } else if (this.#grant.usable(now())) {
      return DONE;
    }
    return this.#renewing;
  }

  /** End an attempt that is under way, and every later one. */
  abort() {
    this.#connection.abort();
  }

  async #renewed() {
    const pause = this.#grant.pauseSeconds(now());
    if (pause > 0) return again(pause, WAITING);
    const reply = await this.#connection.exchange(this.#grant.request());
    this.#connection.close(); // the next one is needed in an hour or so
    const step = this.#grant.receive(reply, Math.random(), now());
    return step.kind === "again" && this.#grant.usable(now()) ? DONE : step;
  }
}
