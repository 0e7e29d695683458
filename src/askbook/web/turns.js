/** The turns of one conversation: asked, streamed, stopped, asked again, and shown once more after a reload. */

import { growAnswer, showAnswer, showError, showProgress, showQuestion, showStopped } from "./answer.js";
import { RequestError } from "./api.js";
import { append } from "./dom.js";

const STATES = { retrieving: "Looking in the book…", generating: "Writing, and checking every sentence…" };

export class Turns {
  /** `around` is the page: where turns are shown and said, what is sent along, and who is told what happens. */
  constructor(around) {
    this.around = around;
    this.sessionId = "";
    /** Exchanges that the server has kept. */
    this.count = 0;
    /** The question in flight. */
    this.running = null;
  }

  get isEmpty() {
    return this.around.log.childElementCount === 0;
  }

  ask(question, selection) {
    if (this.running) return;
    return this.answer(this.add(question, selection));
  }

  stop() {
    this.running?.abort();
  }

  clear() {
    this.stop();
    this.running = null;
    this.sessionId = "";
    this.count = 0;
    this.around.log.replaceChildren();
    this.around.changed();
  }

  /** Show a conversation as the server kept it. */
  show(history) {
    this.clear();
    this.sessionId = history.session_id;
    this.count = history.archived_count / 2;
    for (let at = 0; at + 1 < history.messages.length; at += 2) {
      const [asked, answered] = history.messages.slice(at, at + 2);
      const turn = this.add(asked.content);
      turn.number = this.count += 1;
      const isKnown = answered.should_answer !== null;
      const answer = { ...answered, should_answer: !isKnown || answered.should_answer, response: answered.content };
      showAnswer(turn.place, answer, this.actions(turn));
    }
    this.around.changed();
  }

  add(question, selection) {
    const article = append(this.around.log, "article", "turn");
    showQuestion(article, question, selection);
    return { question, selection, place: append(article, "div", "reply"), number: 0 };
  }

  async answer(turn) {
    if (this.running) return;
    const { server, log, live } = this.around;
    const attempt = (this.running = new AbortController());
    const retry = () => this.answer(turn);
    log.setAttribute("aria-busy", "true");
    turn.place.replaceChildren();
    showProgress(turn.place, STATES.retrieving);
    live.textContent = STATES.retrieving;
    this.around.changed();
    try {
      const question = {
        message: turn.question,
        html: true,
        ...(turn.selection && { selected_text: turn.selection }),
        ...(this.sessionId && { session_id: this.sessionId }),
        ...this.around.fields(),
      };
      const answer = await server.ask(question, attempt.signal, (type, data) => {
        if (type === "state" && STATES[data.state]) showProgress(turn.place, STATES[data.state]);
        if (type === "sentence") {
          growAnswer(turn.place, data.html);
          append(live, "p", "", data.text.replace(/\s*\[[\d, ]+\]/g, ""));
        }
      });
      if (attempt.signal.aborted) return;
      this.sessionId = answer.session_id;
      turn.number = this.count += 1;
      showAnswer(turn.place, answer, this.actions(turn));
      live.textContent = answer.should_answer
        ? `Answered with ${answer.citations.length} ${answer.citations.length === 1 ? "source" : "sources"}.`
        : answer.response + (answer.response.includes(answer.reason) ? "" : ` ${answer.reason}`);
    } catch (error) {
      if (attempt.signal.aborted) {
        live.textContent = "Stopped.";
        showStopped(turn.place, retry);
      } else {
        const known = error instanceof RequestError ? error : new RequestError("This page could not show the answer.");
        showError(turn.place, known, retry);
        if (known.status === 401) this.around.locked(retry);
      }
    } finally {
      if (this.running === attempt) {
        this.running = null;
        log.removeAttribute("aria-busy");
        this.around.changed();
        this.around.answered(turn.place);
      }
    }
  }

  actions(turn) {
    const { server, open } = this.around;
    return {
      url: (path) => (path ? server.url(path) : ""),
      open,
      retry: () => this.ask(turn.question, turn.selection),
      rate: (rating, comment) =>
        server.json("feedback", {
          method: "POST",
          body: { session_id: this.sessionId, turn: turn.number, rating, ...(comment && { comment }) },
        }),
    };
  }
}
