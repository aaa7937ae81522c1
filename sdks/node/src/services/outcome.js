// How a call ended, as it is told to the hall.

import { cut, reportable } from "../wire.js";

// What the hall and the client do with a longer text is cut it; this is enough for people.
const ERROR_CHARACTERS = 8192;

const refusal = (status, text) => ({ status, errorText: reportable(cut(text, ERROR_CHARACTERS)), result: "null" });

/** The method ran; `result` is JSON. */
export const success = (result) => ({ status: "success", errorText: null, result });
/** The method ran and refused; the client sees the text. */
export const failed = (text) => refusal("failed", text);
/** The worker could not run the method, or the method broke. */
export const broken = (text) => refusal("error", text);
