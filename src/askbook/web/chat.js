/** The chat page: puts its parts together. */

import { Server } from "./api.js";
import { ConversationList } from "./conversations.js";
import { addButton, append, recall, remember } from "./dom.js";
import { Profile } from "./profile.js";
import { byId, SourcePanel } from "./source.js";
import { Turns } from "./turns.js";

const MAX_LENGTH = 1000;
const COUNTER_FROM = 800;
const TURN_MARGIN = 20;
const KEY = "askbook.key";
const SESSION = "askbook.session";
let books = [];
let bookId = "";
/** What to do once a key is given. */
let afterKey = null;

const server = new Server(new URL("../", import.meta.url), () => {
  const key = recall("localStorage", KEY);
  return key ? { Authorization: `Bearer ${key}` } : {};
});
const profile = new Profile(updatePage);
const reader = () => ({ ...(bookId && { book_id: bookId }), ...profile.fields() });
const panel = new SourcePanel(server, reader, [byId("middle"), byId("side")]);
const turns = new Turns({
  server,
  log: byId("log"),
  live: byId("live"),
  fields: reader,
  open: (citation, from, event) => {
    event.preventDefault();
    panel.open(citation, from);
  },
  changed: updatePage,
  answered: (place) => {
    reveal(place);
    if (turns.sessionId !== past.current) keepSession();
  },
  locked: askForKey,
});
const past = new ConversationList(server, {
  open: (id) => {
    showSide(false);
    resume(id);
  },
  deleted: (id) => {
    if (id === turns.sessionId) startOver();
  },
});

start();

async function start() {
  byId("ask-form").addEventListener("submit", submit);
  byId("question").addEventListener("keydown", onKey);
  byId("question").addEventListener("input", updateComposer);
  byId("new").addEventListener("click", () => {
    showSide(false);
    startOver();
  });
  byId("book").addEventListener("change", () => {
    startOver();
    chooseBook(byId("book").value);
  });
  byId("key-form").addEventListener("submit", useKey);
  byId("earlier").addEventListener("click", () => resume(turns.sessionId, true));
  byId("theme").addEventListener("click", changeTheme);
  byId("open-side").addEventListener("click", () => showSide(true));
  byId("close-side").addEventListener("click", () => showSide(false));
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || event.defaultPrevented) return;
    if (byId("side").classList.contains("open")) showSide(false);
    else if (!byId("source").hidden) panel.close();
    else turns.stop();
  });
  showTheme();
  updateComposer();
  await load();
}

/** What the page needs to begin; asked for again with a key. */
async function load() {
  try {
    const info = await server.json("info");
    books = info.books ?? [];
    showBooks(info.default_book ?? "");
  } catch (error) {
    if (error.status === 401) return askForKey(load);
    return greet(error.message, error.suggestion ?? "");
  }
  const session = recall("sessionStorage", SESSION);
  await Promise.all([past.load(), session ? resume(session) : null]);
}

// --- Books ---

function showBooks(preferred) {
  byId("book").replaceChildren();
  for (const book of books) append(byId("book"), "option", "", book.title).value = book.book_id;
  if (books.length === 0) {
    return greet("There is no book here yet", "Add one on the server with: askbook ingest PATH");
  }
  const kept = recall("sessionStorage", "askbook.book");
  const known = [kept, preferred].find((id) => books.some((book) => book.book_id === id));
  chooseBook(known ?? books[0].book_id);
}

/** A conversation is about one book. */
function chooseBook(id) {
  const book = books.find((candidate) => candidate.book_id === id);
  bookId = book?.book_id ?? "";
  remember("sessionStorage", "askbook.book", bookId);
  byId("book").value = bookId;
  byId("book").hidden = books.length < 2;
  byId("book-title").textContent = book?.title ?? "Ask the book";
  byId("book-title").classList.toggle("visually-hidden", books.length > 1);
  document.title = book ? `${book.title} – askbook` : "Ask the book";
  profile.show(bookId, book?.choices);
  suggest(bookId);
}

/** The places of the questions are there from the start, so that nothing jumps. */
async function suggest(id) {
  const found = await server.json(`suggestions?book_id=${encodeURIComponent(id)}`).catch(() => null);
  if (id !== bookId) return;
  const questions = found?.questions ?? [];
  const places = [...byId("examples").children];
  places.forEach((place, at) => {
    place.replaceChildren();
    place.style.visibility = questions[at] ? "" : "hidden";
    if (questions[at]) addButton(place, "example", questions[at], () => turns.ask(questions[at]));
  });
}

/** Instead of the questions to begin with. */
function greet(title, text) {
  byId("welcome-title").textContent = title;
  byId("welcome-text").textContent = text;
  byId("examples").replaceChildren();
  addButton(append(byId("examples"), "li"), "button", "Try again", () => location.reload());
}

// --- Conversations ---

async function resume(id, all = false) {
  try {
    const history = await server.json(`session/${id}/history?html=true&archived=${all}`);
    panel.close();
    turns.show(history);
    if (history.book_id !== bookId) chooseBook(history.book_id);
    byId("earlier").hidden = all || history.archived_count === 0;
    keepSession();
    if (!all) byId("log").lastElementChild?.scrollIntoView({ block: "end" });
  } catch (error) {
    if (error.status === 401) return askForKey(() => resume(id, all));
    remember("sessionStorage", SESSION, null);
  }
}

function keepSession() {
  remember("sessionStorage", SESSION, turns.sessionId || null);
  past.current = turns.sessionId;
  past.load();
}

function startOver() {
  panel.close();
  turns.clear();
  byId("earlier").hidden = true;
  remember("sessionStorage", SESSION, null);
  past.mark("");
  updateComposer();
  byId("question").focus();
}

// --- Asking ---

function submit(event) {
  event.preventDefault();
  if (turns.running) return turns.stop();
  const question = byId("question").value.trim();
  if (!question || lengthOf(question) > MAX_LENGTH) return;
  byId("question").value = "";
  turns.ask(question);
  byId("scroller").scrollTop = byId("scroller").scrollHeight;
}

function onKey(event) {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  if (!turns.running) submit(event);
}

function updatePage() {
  byId("welcome").hidden = !turns.isEmpty;
  byId("ask-form").classList.toggle("running", Boolean(turns.running));
  byId("send").setAttribute("aria-label", turns.running ? "Stop" : "Send");
  updateComposer();
}

function updateComposer() {
  const field = byId("question");
  const length = lengthOf(field.value.trim());
  byId("send").disabled = !turns.running && (length === 0 || length > MAX_LENGTH);
  byId("counter").textContent = length >= COUNTER_FROM ? `${length} / ${MAX_LENGTH}` : "";
  field.setAttribute("aria-invalid", String(length > MAX_LENGTH));
  field.style.height = "auto";
  if (field.value) field.style.height = `${field.scrollHeight + 2}px`;
}

/** In characters as the server counts them. */
function lengthOf(text) {
  return [...text].length;
}

/** A turn from its question on, so that a long answer is read from its beginning. */
function reveal(place) {
  const turn = place.closest(".turn");
  if (!turn || turn !== byId("log").lastElementChild) return;
  const top = turn.getBoundingClientRect().top - byId("scroller").getBoundingClientRect().top;
  byId("scroller").scrollTop += top - TURN_MARGIN;
}

// --- Access key ---

function askForKey(next) {
  afterKey = next;
  byId("key-form").hidden = false;
  byId("key").focus();
}

async function useKey(event) {
  event.preventDefault();
  remember("localStorage", KEY, byId("key").value.trim());
  byId("key").value = "";
  byId("key-form").hidden = true;
  byId("question").focus();
  const next = afterKey;
  afterKey = null;
  if (books.length === 0 && next !== load) await load();
  next?.();
}

// --- Colours, menu ---

function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

function changeTheme() {
  const theme = isDark() ? "light" : "dark";
  document.documentElement.dataset.theme = theme;
  remember("localStorage", "askbook.theme", theme);
  showTheme();
}

function showTheme() {
  byId("theme").setAttribute("aria-pressed", String(isDark()));
}

/** On narrow screens the menu covers the page. */
function showSide(isOpen) {
  if (byId("side").classList.contains("open") === isOpen) return;
  byId("side").classList.toggle("open", isOpen);
  byId("open-side").setAttribute("aria-expanded", String(isOpen));
  byId("middle").inert = isOpen;
  byId(isOpen ? "close-side" : "open-side").focus();
}
