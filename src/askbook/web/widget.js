/** The widget: a button and a panel on any site, in a shadow root that neither side's styles cross. */

import { Server } from "./api.js";
import { addButton, addIconButton, append, recall, remember } from "./dom.js";
import { Turns } from "./turns.js";

const script = document.currentScript;
const options = script.dataset;
const title = options.title || "Ask this book";
const STATE = `askbook.widget.${options.book ?? ""}`;
const READER = "askbook.reader";
const LONGEST_SELECTION = 4000;
const SETTLED = 250;
const CROSS = "m5 5 10 10M15 5 5 15";
const PLUS = "M10 4v12M4 10h12";
const SEND = "M10 16V4.5M4.8 9.5 10 4.3l5.2 5.2";
const STOP = "M6.5 6.5h7v7h-7z";

const server = new Server(new URL(".", script.src), () => ({
  ...(options.key && { Authorization: `Bearer ${options.key}` }),
  "X-Askbook-Reader": readerToken(),
}));
const parts = build();
const turns = new Turns({
  server,
  log: parts.log,
  live: parts.live,
  fields: () => (options.book ? { book_id: options.book } : {}),
  open: follow,
  changed: update,
  answered: (place) => {
    parts.scroller.scrollTop += place.parentElement.getBoundingClientRect().top - parts.scroller.getBoundingClientRect().top;
    keep();
  },
  locked: () => {},
});
/** What the reader marked on the page, to be asked about. */
let selection = "";

start();

function start() {
  const state = recall("sessionStorage", STATE);
  turns.sessionId = state?.session ?? "";
  update();
  if (state?.isOpen) open({ focus: false });
  if (!options.theme) followSite();
  let settling = 0;
  document.addEventListener("selectionchange", () => {
    clearTimeout(settling);
    settling = setTimeout(offerSelection, SETTLED);
  });
}

/** As dark as the site, where it says so itself; else as the system. */
function followSite() {
  const follow = () => {
    const scheme = getComputedStyle(document.body).colorScheme;
    parts.host.dataset.theme = ["light", "dark"].includes(scheme) ? scheme : "";
  };
  const observer = new MutationObserver(follow);
  for (const element of [document.documentElement, document.body]) observer.observe(element, { attributes: true });
  follow();
}

/** Everything that is seen, made once. */
function build() {
  const host = document.createElement("div");
  if (options.theme) host.dataset.theme = options.theme;
  if (options.color && CSS.supports("color", options.color)) host.style.setProperty("--askbook-color", options.color);
  const root = host.attachShadow({ mode: "open" });
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(STYLES);
  root.adoptedStyleSheets = [sheet];
  const frame = append(root, "div", `frame ${options.position === "left" ? "left" : "right"}`);
  const launcher = addButton(frame, "launcher", title, () => open());
  const ask = addButton(frame, "ask-selection", "Ask about this", askSelection);
  // Pressing it must not unmark what it is about.
  ask.addEventListener("pointerdown", (event) => event.preventDefault());
  ask.hidden = true;

  const panel = append(frame, "section", "panel");
  panel.hidden = true;
  panel.setAttribute("role", "dialog");
  panel.setAttribute("aria-label", title);
  panel.addEventListener("keydown", (event) => {
    event.stopPropagation();
    if (event.key === "Escape") close();
  });
  const head = append(panel, "header");
  append(head, "h2", "", title);
  addIconButton(head, PLUS, "New conversation", startOver);
  addIconButton(head, CROSS, "Close", close);
  const scroller = append(panel, "div", "scroller");
  scroller.tabIndex = 0;
  scroller.setAttribute("role", "region");
  scroller.setAttribute("aria-label", "Conversation");
  const welcome = append(scroller, "p", "welcome", "Answers come only from this book, each with its exact place.");
  const log = append(scroller, "div", "log");
  const live = append(panel, "div", "visually-hidden");
  live.setAttribute("role", "status");

  const form = append(panel, "form");
  const marked = append(form, "div", "marked");
  const quote = append(marked, "p");
  addIconButton(marked, CROSS, "Ask without the marked passage", () => mark(""));
  const field = append(form, "textarea");
  field.rows = 1;
  field.maxLength = 1000;
  field.setAttribute("aria-label", "Your question");
  field.addEventListener("input", update);
  field.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    if (!turns.running) submit();
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  const send = addIconButton(form, SEND, "Send", () => (turns.running ? turns.stop() : submit()));
  send.classList.add("send");
  document.documentElement.appendChild(host);
  return { host, launcher, ask, panel, scroller, welcome, log, live, marked, quote, field, send };
}

function update() {
  const { field, send, quote } = parts;
  const isRunning = Boolean(turns.running);
  parts.welcome.hidden = !turns.isEmpty;
  parts.marked.hidden = !selection;
  quote.textContent = selection;
  field.placeholder = selection ? "Explain this passage" : "Ask a question…";
  send.disabled = !isRunning && !field.value.trim() && !selection;
  send.setAttribute("aria-label", isRunning ? "Stop" : "Send");
  send.querySelector("path").setAttribute("d", isRunning ? STOP : SEND);
  field.style.height = "auto";
  if (field.value) field.style.height = `${field.scrollHeight + 2}px`;
}

function submit() {
  const question = parts.field.value.trim() || (selection ? "Explain this passage" : "");
  if (!question) return;
  const marked = selection;
  parts.field.value = "";
  selection = "";
  turns.ask(question, marked);
  parts.scroller.scrollTop = parts.scroller.scrollHeight;
}

// --- Open and closed ---

async function open({ focus = true } = {}) {
  parts.panel.hidden = false;
  parts.launcher.hidden = true;
  if (focus) parts.field.focus();
  keep();
  if (!turns.sessionId || !turns.isEmpty) return;
  const history = await server.json(`session/${turns.sessionId}/history?html=true`).catch(() => null);
  if (!turns.isEmpty) return;
  if (history) turns.show(history);
  else turns.sessionId = "";
  parts.scroller.scrollTop = parts.scroller.scrollHeight;
}

function close() {
  parts.panel.hidden = true;
  parts.launcher.hidden = false;
  parts.launcher.focus();
  keep();
}

function startOver() {
  turns.clear();
  mark("");
  keep();
}

/** So that the conversation goes on when a citation leads to another page of the site. */
function keep() {
  remember("sessionStorage", STATE, { session: turns.sessionId, isOpen: !parts.panel.hidden });
}

/** A place on this site opens in this page, any other beside it. */
function follow(citation, link, event) {
  const url = new URL(server.url(citation.url));
  if (url.origin === location.origin) {
    if (innerWidth <= 520) close();
    keep();
    return;
  }
  event.preventDefault();
  window.open(url.href, "_blank", "noopener");
}

// --- What the reader marked ---

function offerSelection() {
  const marked = document.getSelection();
  const text = marked?.toString().trim() ?? "";
  parts.ask.hidden = text.length < 3 || marked.rangeCount === 0;
  if (parts.ask.hidden) return;
  const { left, bottom, width } = marked.getRangeAt(0).getBoundingClientRect();
  const clamp = (value, most) => Math.max(8, Math.min(value, most));
  parts.ask.style.left = `${clamp(left + width / 2 - 70, innerWidth - 156)}px`;
  parts.ask.style.top = `${clamp(bottom + 8, innerHeight - 48)}px`;
}

function askSelection() {
  mark(document.getSelection().toString().trim().slice(0, LONGEST_SELECTION));
  parts.ask.hidden = true;
  open();
}

function mark(text) {
  selection = text;
  update();
  parts.field.focus();
}

// --- Who asks ---

/** A random word of this browser's own, no cookie: conversations belong to whoever holds it. */
function readerToken() {
  const known = recall("localStorage", READER);
  if (typeof known === "string" && known.length >= 32) return known;
  const bytes = crypto.getRandomValues(new Uint8Array(32));
  const token = btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  remember("localStorage", READER, token);
  return token;
}
