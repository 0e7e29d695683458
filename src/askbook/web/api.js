/**
 * The server's HTTP interface, as the chat page uses it.
 *
 * @typedef {{book_id: string, title: string, examples?: string[]}} Book
 * @typedef {{books: Book[], default_book: string | null}} Info
 * @typedef {{message: string, session_id?: string, book_id?: string}} Question
 * @typedef {{n: number, page_title: string, section_title: string | null, url: string, quote: string}} Citation
 * @typedef {{
 *   response: string, should_answer: boolean, session_id: string, state: string,
 *   confidence_level: "high" | "medium" | "low" | "insufficient",
 *   citations: Citation[], metrics: {reason?: string}
 * }} Answer
 */

const KEY = "askbook.key";

/** What went wrong, in words a reader can act on. */
export class RequestError extends Error {
  /**
   * @param {string} message
   * @param {{suggestion?: string, status?: number, retryAfter?: number}} [more]
   */
  constructor(message, { suggestion = "", status = 0, retryAfter = 0 } = {}) {
    super(message);
    this.suggestion = suggestion;
    this.status = status;
    this.retryAfter = retryAfter;
  }
}

/** Keep the reader's access key for this tab. @param {string} key */
export function rememberKey(key) {
  sessionStorage.setItem(KEY, key);
}

/** The books on offer. @returns {Promise<Info>} */
export async function fetchInfo() {
  return readJson(await request("/info", {}));
}

/**
 * Ask a question. A streaming answer would call `onEvent` as it grows and resolve with the same
 * whole answer at its end.
 *
 * @param {Question} question
 * @param {{signal?: AbortSignal, onEvent?: (event: {type: string, data: unknown}) => void}} [options]
 * @returns {Promise<Answer>}
 */
export async function ask(question, { signal } = {}) {
  const response = await request("/chat/run", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(question),
    signal,
  });
  return readJson(response);
}

/**
 * @param {string} path
 * @param {RequestInit} options
 */
async function request(path, options) {
  const headers = new Headers(options.headers);
  headers.set("Accept", "application/json");
  const key = sessionStorage.getItem(KEY);
  if (key) headers.set("Authorization", `Bearer ${key}`);

  let response;
  try {
    response = await fetch(path, { ...options, headers });
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new RequestError("The server cannot be reached.", {
      suggestion: "Check that it is running and that you are connected, then try again.",
    });
  }
  if (!response.ok) throw await describeFailure(response);
  return response;
}

/** @param {Response} response */
async function describeFailure(response) {
  const body = await response.json().catch(() => ({}));
  const text = (value, otherwise) => (typeof value === "string" && value ? value : otherwise);
  return new RequestError(text(body.message, `The server answered with status ${response.status}.`), {
    suggestion: text(body.suggestion, ""),
    status: response.status,
    retryAfter: Number(response.headers.get("Retry-After")) || 0,
  });
}

/** @param {Response} response */
async function readJson(response) {
  try {
    return await response.json();
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new RequestError("The server's answer was cut short.", { suggestion: "Try again." });
  }
}
