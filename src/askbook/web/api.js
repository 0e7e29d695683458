/** The server's HTTP interface: requests, events, and failures in words. */

/** What went wrong, in words a reader can act on. */
export class RequestError extends Error {
  constructor(message, { suggestion = "", status = 0, retryAfter = 0 } = {}) {
    super(message);
    this.suggestion = suggestion;
    this.status = status;
    this.retryAfter = retryAfter;
  }
}

export class Server {
  constructor(base, headers = () => ({})) {
    this.base = base;
    this.headers = headers;
  }

  /** An address of this server, behind whatever prefix it stands, or one of another site as it is. */
  url(path) {
    const [relative, base] = [path.replace(/^\/(?!\/)/, ""), this.base];
    const url = URL.canParse(relative, base) ? new URL(relative, base) : null;
    return url && /^https?:$/.test(url.protocol) ? url.href : "";
  }

  async request(path, { method = "GET", body, signal, accept = "application/json" } = {}) {
    const headers = { Accept: accept, ...this.headers() };
    if (body !== undefined) headers["Content-Type"] = "application/json";
    const sent = body === undefined ? undefined : JSON.stringify(body);
    let response;
    try {
      response = await fetch(this.url(path), { method, headers, body: sent, signal, credentials: "omit" });
    } catch (error) {
      throw signal?.aborted ? error : unreachable();
    }
    if (!response.ok) throw await describeFailure(response);
    return response;
  }

  async json(path, options) {
    const response = await this.request(path, options);
    if (response.status === 204) return null;
    try {
      return await response.json();
    } catch (error) {
      throw options?.signal?.aborted ? error : cutShort();
    }
  }

  /** Server-sent events as they come. */
  async *events(path, options) {
    const response = await this.request(path, { ...options, accept: "text/event-stream" });
    const reader = response.body.getReader();
    const decoder = new TextDecoder();
    let waiting = "";
    try {
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return;
        waiting = (waiting + decoder.decode(value, { stream: true })).replaceAll("\r\n", "\n");
        const blocks = waiting.split("\n\n");
        waiting = blocks.pop() ?? "";
        for (const block of blocks) {
          const event = readEvent(block);
          if (event) yield event;
        }
      }
    } catch (error) {
      throw options?.signal?.aborted || error instanceof RequestError ? error : cutShort();
    } finally {
      reader.cancel().catch(() => {});
    }
  }

  /** Ask a question; `onEvent` is told what happens until the whole answer is there. */
  async ask(question, signal, onEvent) {
    for await (const { type, data } of this.events("chat/stream", { method: "POST", body: question, signal })) {
      if (type === "done") return { ...data, reason: data.metrics?.reason ?? "" };
      if (type === "error") throw new RequestError(data.message, data);
      onEvent(type, data);
    }
    throw cutShort();
  }
}

function readEvent(block) {
  const fields = { event: "message", data: "" };
  for (const line of block.split("\n")) {
    const [, name, value] = /^(event|data): ?(.*)$/.exec(line) ?? [];
    if (name === "event") fields.event = value;
    else if (name === "data") fields.data += value;
  }
  return fields.data ? { type: fields.event, data: JSON.parse(fields.data) } : null;
}

function unreachable() {
  const suggestion = "Check that it is running and that you are connected, then try again.";
  if (navigator.onLine) return new RequestError("The server cannot be reached.", { suggestion });
  return new RequestError("You are offline.", { suggestion: "Your question is kept: try again once you are connected." });
}

function cutShort() {
  return new RequestError("The answer was cut short.", { suggestion: "Try again." });
}

async function describeFailure(response) {
  const body = await response.json().catch(() => ({}));
  const status = response.status;
  const message = typeof body.message === "string" && body.message;
  return new RequestError(message || `The server answered with status ${status}.`, {
    suggestion: typeof body.suggestion === "string" ? body.suggestion : "",
    status,
    retryAfter: Math.min(Number(response.headers.get("Retry-After")) || 0, 3600),
  });
}
