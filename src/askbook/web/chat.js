/** The chat page: reads questions, asks the server, shows the turns and keeps them for this tab. */

import { ask, fetchInfo, rememberKey, RequestError } from "./api.js";
import { showAnswer, showError, showLoading, showQuestion, showStopped } from "./answer.js";
import { append } from "./markdown.js";

/**
 * @typedef {import("./api.js").Answer} Answer
 * @typedef {import("./api.js").Book} Book
 * @typedef {{bookId: string, sessionId: string, turns: {question: string, answer: Answer}[]}} Conversation
 */

const MAX_LENGTH = 1000;
const COUNTER_FROM = 800;
const KEPT_TURNS = 30;
const TURN_MARGIN = 20;
const STORE = "askbook.conversation";

const page = {
  title: byId("book-title"),
  picker: byId("book-picker"),
  book: /** @type {HTMLSelectElement} */ (byId("book")),
  newConversation: /** @type {HTMLButtonElement} */ (byId("new-conversation")),
  scroller: byId("scroller"),
  welcome: byId("welcome"),
  examples: byId("examples"),
  conversation: byId("conversation"),
  form: /** @type {HTMLFormElement} */ (byId("ask-form")),
  question: /** @type {HTMLTextAreaElement} */ (byId("question")),
  send: /** @type {HTMLButtonElement} */ (byId("send")),
  counter: byId("counter"),
  keyForm: /** @type {HTMLFormElement} */ (byId("key-form")),
  key: /** @type {HTMLInputElement} */ (byId("key")),
};

/** @type {Book[]} */
let books = [];
let conversation = restore();
/** @type {AbortController | null} The question in flight. */
let running = null;
/** @type {(() => void) | null} What to do once a key is given. */
let afterKey = null;

start();

function start() {
  page.form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (running) running.abort();
    else submit();
  });
  page.question.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    if (!running) submit();
  });
  page.question.addEventListener("input", updateComposer);
  page.newConversation.addEventListener("click", startOver);
  page.book.addEventListener("change", () => chooseBook(page.book.value));
  page.keyForm.addEventListener("submit", useKey);
  for (const { question, answer } of conversation.turns) {
    showAnswer(addTurn(question), answer);
  }
  updatePage();
  updateComposer();
  scrollToEnd();
  loadBooks();
}

// --- Books ---

async function loadBooks() {
  try {
    const info = await fetchInfo();
    books = info.books ?? [];
    showBooks(info.default_book);
  } catch (error) {
    if (isLocked(error)) askForKey(loadBooks);
    // Without /info the page still works: the server knows its only book.
  }
}

/** @param {string | null} defaultBook */
function showBooks(defaultBook) {
  page.book.replaceChildren();
  for (const book of books) {
    const option = /** @type {HTMLOptionElement} */ (append(page.book, "option"));
    option.value = book.book_id;
    option.textContent = book.title;
  }
  const known = (id) => books.some((book) => book.book_id === id);
  const chosen = [conversation.bookId, defaultBook ?? ""].find(known) ?? books[0]?.book_id ?? "";
  if (conversation.bookId && conversation.bookId !== chosen) startOver();
  conversation.bookId = chosen;
  page.book.value = chosen;
  updatePage();
  scrollToEnd();
}

/** A conversation is about one book. @param {string} bookId */
function chooseBook(bookId) {
  startOver();
  conversation.bookId = bookId;
  updatePage();
}

function updatePage() {
  const book = books.find(({ book_id: id }) => id === conversation.bookId);
  page.picker.hidden = books.length < 2;
  page.title.textContent = book?.title ?? "Ask the book";
  page.title.classList.toggle("visually-hidden", books.length > 1);
  document.title = book ? `${book.title} – askbook` : "Ask the book";
  page.welcome.hidden = page.conversation.childElementCount > 0;
  page.newConversation.disabled = page.conversation.childElementCount === 0;
  showExamples(book?.examples ?? []);
}

/** @param {string[]} examples */
function showExamples(examples) {
  page.examples.replaceChildren();
  page.examples.hidden = examples.length === 0;
  for (const example of examples.slice(0, 4)) {
    const button = /** @type {HTMLButtonElement} */ (append(page.examples, "button", "example"));
    button.type = "button";
    button.textContent = example;
    button.addEventListener("click", () => {
      if (!running) askQuestion(example);
    });
  }
}

// --- Turns ---

function submit() {
  const question = page.question.value.trim();
  if (!question || lengthOf(question) > MAX_LENGTH) return;
  page.question.value = "";
  askQuestion(question);
}

/** @param {string} question */
function askQuestion(question) {
  const place = addTurn(question);
  updatePage();
  return answerIn(place, question);
}

/** @param {HTMLElement} place @param {string} question */
async function answerIn(place, question) {
  if (running) return;
  const asked = conversation;
  const attempt = new AbortController();
  const retry = () => answerIn(place, question);
  setRunning(attempt);
  showLoading(place);
  scrollToEnd();
  try {
    const answer = await ask(
      {
        message: question,
        ...(asked.sessionId && { session_id: asked.sessionId }),
        ...(asked.bookId && { book_id: asked.bookId }),
      },
      { signal: attempt.signal },
    );
    showAnswer(place, answer);
    asked.sessionId = answer.session_id;
    asked.turns.push({ question, answer });
    if (asked === conversation) keep();
  } catch (error) {
    if (attempt.signal.aborted) {
      showStopped(place, retry);
    } else {
      showError(place, asRequestError(error), retry);
      if (isLocked(error)) askForKey(retry);
    }
  } finally {
    if (running === attempt) setRunning(null);
    revealTurn(place);
  }
}

/** Add a turn with its question; returns the place for its answer. @param {string} question */
function addTurn(question) {
  const turn = append(page.conversation, "article", "turn");
  showQuestion(turn, question);
  return append(turn, "div", "reply");
}

/** @param {AbortController | null} attempt */
function setRunning(attempt) {
  running = attempt;
  page.conversation.setAttribute("aria-busy", String(attempt !== null));
  page.form.classList.toggle("busy", attempt !== null);
  page.send.setAttribute("aria-label", attempt ? "Stop" : "Send");
  updateComposer();
}

function startOver() {
  running?.abort();
  setRunning(null);
  conversation = { bookId: conversation.bookId, sessionId: "", turns: [] };
  keep();
  page.conversation.replaceChildren();
  updatePage();
  page.question.focus();
}

// --- Access key ---

/** @param {() => void} next */
function askForKey(next) {
  afterKey = next;
  page.keyForm.hidden = false;
  page.key.focus();
}

/** @param {SubmitEvent} event */
async function useKey(event) {
  event.preventDefault();
  rememberKey(page.key.value.trim());
  page.key.value = "";
  page.keyForm.hidden = true;
  page.question.focus();
  const next = afterKey;
  afterKey = null;
  if (books.length === 0 && next !== loadBooks) await loadBooks();
  next?.();
}

/** @param {unknown} error */
function isLocked(error) {
  return error instanceof RequestError && error.status === 401;
}

/** @param {unknown} error */
function asRequestError(error) {
  if (error instanceof RequestError) return error;
  return new RequestError("This page could not show the answer.", { suggestion: "Try again." });
}

// --- Composer ---

function updateComposer() {
  const length = lengthOf(page.question.value.trim());
  const isTooLong = length > MAX_LENGTH;
  page.send.disabled = !running && (length === 0 || isTooLong);
  page.counter.textContent = length >= COUNTER_FROM ? `${length} / ${MAX_LENGTH}` : "";
  page.counter.classList.toggle("too-long", isTooLong);
  page.question.setAttribute("aria-invalid", String(isTooLong));
  page.question.style.height = "auto";
  page.question.style.height = `${page.question.scrollHeight}px`;
}

/** In characters as the server counts them. @param {string} text */
function lengthOf(text) {
  return [...text].length;
}

// --- Scrolling ---

function scrollToEnd() {
  page.scroller.scrollTop = page.scroller.scrollHeight;
}

/** Show a turn from its question on, so that a long answer is read from its beginning. @param {HTMLElement} place */
function revealTurn(place) {
  const turn = place.closest(".turn");
  if (!turn || turn !== page.conversation.lastElementChild) return;
  const top = turn.getBoundingClientRect().top - page.scroller.getBoundingClientRect().top;
  page.scroller.scrollTop += top - TURN_MARGIN;
}

// --- What this tab remembers ---

/** @returns {Conversation} */
function restore() {
  const empty = { bookId: "", sessionId: "", turns: [] };
  try {
    return { ...empty, ...JSON.parse(sessionStorage.getItem(STORE) ?? "{}") };
  } catch {
    return empty;
  }
}

function keep() {
  const kept = { ...conversation, turns: conversation.turns.slice(-KEPT_TURNS) };
  try {
    sessionStorage.setItem(STORE, JSON.stringify(kept));
  } catch {
    // A full store costs the transcript after a reload, not the conversation.
    sessionStorage.setItem(STORE, JSON.stringify({ ...kept, turns: [] }));
  }
}

/** @param {string} id */
function byId(id) {
  return /** @type {HTMLElement} */ (document.getElementById(id));
}
