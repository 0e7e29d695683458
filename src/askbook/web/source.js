/** The lesson beside the answer: its text as the server sanitised it, the supporting words marked and in view. */

import { placeOf } from "./answer.js";
import { append, showHtml } from "./dom.js";

const isNarrow = matchMedia("(max-width: 64rem)");

export class SourcePanel {
  constructor(server, reader, behind) {
    this.server = server;
    this.reader = reader;
    this.behind = behind;
    this.panel = byId("source");
    this.text = byId("source-text");
    this.from = null;
    this.latest = 0;
    byId("close-source").addEventListener("click", () => this.close());
    this.panel.addEventListener("keydown", (event) => {
      if (event.key === "Escape") this.close();
    });
    isNarrow.addEventListener("change", () => this.cover());
  }

  async open(citation, from) {
    const mine = (this.latest += 1);
    this.mark(from);
    byId("source-title").textContent = placeOf(citation);
    byId("source-where").textContent = "";
    const link = byId("source-link");
    link.href = this.server.url(citation.url);
    this.text.replaceChildren();
    append(this.text, "p", "note", "Opening the lesson…");
    this.panel.hidden = false;
    this.cover();
    byId("source-title").focus();
    const { book_id: book, hardware_tier: tier } = this.reader();
    const query = new URLSearchParams({
      quote: `${citation.quote_start}-${citation.quote_end}`,
      ...(book && { book_id: book }),
      ...(tier && { hardware_tier: String(tier) }),
    });
    try {
      const passage = await this.server.json(`passage/${encodeURIComponent(citation.chunk_id)}?${query}`);
      if (mine === this.latest) this.show(passage);
    } catch (error) {
      if (mine !== this.latest) return;
      this.text.replaceChildren();
      append(this.text, "p", "notice", `${error.message} ${error.suggestion ?? ""}`);
    }
  }

  close() {
    if (this.panel.hidden) return;
    this.latest += 1;
    this.panel.hidden = true;
    const from = this.from;
    this.mark(null);
    this.cover();
    from?.focus();
  }

  show(passage) {
    byId("source-where").textContent = passage.breadcrumb;
    showHtml(this.text, passage.html);
    if (!passage.is_marked) {
      const notice = append(this.text, "p", "notice", "The cited words are no longer in this lesson: it has changed since.");
      this.text.prepend(notice);
    }
    const quote = this.text.querySelector("mark, .cited");
    const offset = quote ? quote.getBoundingClientRect().top - this.text.getBoundingClientRect().top : 0;
    this.text.scrollTop += offset - this.text.clientHeight / 4;
  }

  /** Say on the page which chip is open. */
  mark(from) {
    this.from?.removeAttribute("aria-current");
    from?.setAttribute("aria-current", "true");
    this.from = from;
  }

  cover() {
    for (const element of this.behind) element.inert = isNarrow.matches && !this.panel.hidden;
  }
}

export function byId(id) {
  return document.getElementById(id);
}
