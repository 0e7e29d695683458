/** The list of conversations: resumed by a click, deleted by two. */

import { addButton, addIconButton, append } from "./dom.js";
import { byId } from "./source.js";

const TRASH = "M4.5 6h11M8 6V4h4v2m-6 0 .6 10h6.8L14 6";
const SURE_FOR = 4000;

export class ConversationList {
  constructor(server, handlers) {
    this.server = server;
    this.handlers = handlers;
    this.list = byId("past");
    this.current = "";
  }

  async load() {
    try {
      const [active, idle] = await Promise.all([this.server.json("sessions"), this.server.json("sessions?archived=true")]);
      this.list.replaceChildren();
      for (const session of [...active, ...idle]) this.add(session);
    } catch {
      // Who may not list conversations can still have one.
      this.list.replaceChildren();
    }
    byId("past-note").hidden = this.list.childElementCount > 0;
    this.mark(this.current);
  }

  mark(id) {
    this.current = id;
    for (const button of this.list.querySelectorAll("button[data-id]")) {
      if (button.dataset.id === id) button.setAttribute("aria-current", "true");
      else button.removeAttribute("aria-current");
    }
  }

  add({ session_id: id, title }) {
    const item = append(this.list, "li");
    const open = addButton(item, "past-title", title || "Conversation", () => this.handlers.open(id));
    open.dataset.id = id;
    open.dir = "auto";
    const remove = addIconButton(item, TRASH, `Delete “${title}”`, async () => {
      if (!remove.dataset.sure) {
        remove.dataset.sure = "Delete?";
        remove.setAttribute("aria-label", `Press again to delete “${title}” for good`);
        setTimeout(() => delete remove.dataset.sure, SURE_FOR);
        return;
      }
      await this.server.json(`session/${id}`, { method: "DELETE" }).catch(() => {});
      this.handlers.deleted(id);
      await this.load();
    });
  }
}
