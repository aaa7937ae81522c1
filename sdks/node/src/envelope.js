// Refusals of the hall, told in one line for people.

import { cut, reportable } from "./wire.js";

export const SUPERSEDED = "worker_superseded";
export const NOT_REGISTERED = "not_registered";

/** The hall's `error_code`, or OAuth's `error`; empty if the answer has none. */
export function answerCode(answer) {
  const members = answer.members();
  const code = members.error_code || members.error;
  return typeof code === "string" ? code : "";
}

/** An answer in one line for people: status, code and detail of the envelope. */
export function explain(answer) {
  const code = answerCode(answer);
  const { detail } = answer.members();
  const words = [`the server answered ${answer.status}`];
  if (code) words.push(oneLine(code));
  if (typeof detail === "string" && detail) words.push(`(${oneLine(detail)})`);
  if (answer.status >= 300 && answer.status < 400) {
    words.push(`(it points to ${oneLine(answer.header("location") ?? "nowhere")}; redirects are not followed)`);
  }
  return words.join(" ");
}

function oneLine(text) {
  return reportable(
    cut(text, 500)
      .split(/[\s\u0000-\u001f\u007f]+/)
      .join(" "),
  );
}
