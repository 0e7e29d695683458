/**
 * What one turn looks like: the question, then its answer, "not in the book", or what went wrong.
 *
 * @typedef {import("./api.js").Answer} Answer
 * @typedef {import("./api.js").Citation} Citation
 * @typedef {import("./api.js").RequestError} RequestError
 */

import { hideCard, showCard } from "./card.js";
import { append, renderMarkdown, safeUrl } from "./markdown.js";

const LEVELS = {
  high: "High confidence",
  medium: "Medium confidence",
  low: "Low confidence",
  insufficient: "Not enough evidence",
};
const DISCLAIMER =
  "The book only partly supports this answer. Read the cited passages before you rely on it.";

/** @param {HTMLElement} turn @param {string} question */
export function showQuestion(turn, question) {
  const bubble = append(turn, "div", "question");
  append(bubble, "span", "visually-hidden").textContent = "You asked: ";
  append(bubble, "span").textContent = question;
}

/** @param {HTMLElement} place */
export function showLoading(place) {
  const loading = fresh(place, "loading");
  const dots = append(loading, "span", "dots");
  dots.setAttribute("aria-hidden", "true");
  for (let i = 0; i < 3; i += 1) append(dots, "span");
  append(loading, "span").textContent = "Looking in the book…";
}

/** @param {HTMLElement} place @param {Answer} answer */
export function showAnswer(place, answer) {
  if (!answer.should_answer) return showNotInBook(place, answer);
  const card = fresh(place, "answer");
  const citations = answer.citations ?? [];
  const [text, disclaimer] = splitDisclaimer(answer);
  if (disclaimer) append(card, "p", "disclaimer").textContent = disclaimer;
  const links = new Map(citations.map((citation) => [citation.n, citation]));
  append(card, "div", "prose").appendChild(
    renderMarkdown(text, (n) => {
      const citation = links.get(n);
      return citation ? citationLink(citation) : null;
    }),
  );
  if (citations.length) showSources(card, citations);
  const meta = append(card, "div", "meta");
  showConfidence(meta, answer);
  showCopy(meta, answer);
}

/**
 * The text of an answer, and what warns of a weak one. The server ends such an answer with the
 * book's own disclaimer: the one paragraph that cites nothing.
 *
 * @param {Answer} answer
 * @returns {[string, string]}
 */
function splitDisclaimer(answer) {
  if (answer.confidence_level !== "low") return [answer.response, ""];
  const at = answer.response.trimEnd().lastIndexOf("\n\n");
  const last = answer.response.slice(at).trim();
  if (at < 0 || !/^[^|`\-*#>[\]]+$/.test(last)) return [answer.response, DISCLAIMER];
  return [answer.response.slice(0, at), last];
}

/** @param {HTMLElement} place @param {Answer} answer */
function showNotInBook(place, answer) {
  const card = fresh(place, "answer not-in-book");
  append(card, "p", "verdict").textContent = "Not in the book";
  append(card, "div", "prose").appendChild(renderMarkdown(answer.response));
  const reason = answer.metrics?.reason;
  if (reason) append(card, "p", "reason").textContent = asSentence(reason);
  append(card, "p", "advice").textContent =
    "Try the book's own words, or ask about a smaller part of your question.";
}

/**
 * @param {HTMLElement} place
 * @param {RequestError} error
 * @param {() => void} retry
 */
export function showError(place, error, retry) {
  const card = fresh(place, "failure");
  card.setAttribute("role", "alert");
  append(card, "p", "verdict").textContent = error.message;
  if (error.suggestion) append(card, "p").textContent = error.suggestion;
  const button = /** @type {HTMLButtonElement} */ (append(card, "button", "button"));
  button.type = "button";
  button.addEventListener("click", retry);
  countDown(button, error.retryAfter);
}

/** @param {HTMLElement} place @param {() => void} retry */
export function showStopped(place, retry) {
  const card = fresh(place, "stopped");
  append(card, "p").textContent = "Stopped.";
  const button = /** @type {HTMLButtonElement} */ (append(card, "button", "button"));
  button.type = "button";
  button.textContent = "Ask again";
  button.addEventListener("click", retry);
}

/** "Try again", from when the server allows it. @param {HTMLButtonElement} button @param {number} seconds */
function countDown(button, seconds) {
  button.disabled = seconds > 0;
  button.textContent = seconds > 0 ? `Try again in ${seconds} s` : "Try again";
  if (seconds > 0) setTimeout(() => countDown(button, seconds - 1), 1000);
}

/** @param {HTMLElement} card @param {Citation[]} citations */
function showSources(card, citations) {
  const section = append(card, "section", "sources");
  section.setAttribute("aria-label", "Sources");
  append(section, "h2").textContent = citations.length === 1 ? "Source" : "Sources";
  const list = append(section, "ol");
  for (const citation of citations) {
    const item = append(list, "li");
    append(item, "span", "number").textContent = String(citation.n);
    const text = append(item, "div", "source");
    passageLink(text, citation, "place").textContent = placeOf(citation);
    if (citation.quote) append(text, "blockquote").appendChild(renderMarkdown(citation.quote));
  }
}

/** @param {Citation} citation */
function citationLink(citation) {
  const mark = document.createElement("sup");
  const link = passageLink(mark, citation, "citation");
  link.textContent = String(citation.n);
  link.setAttribute("aria-label", `Source ${citation.n}: ${placeOf(citation)}`);
  link.addEventListener("pointerenter", (event) => {
    if (event.pointerType !== "touch") showCard(link, placeOf(citation), citation.quote);
  });
  link.addEventListener("pointerleave", hideCard);
  link.addEventListener("focus", () => showCard(link, placeOf(citation), citation.quote));
  link.addEventListener("blur", hideCard);
  return mark;
}

/** A link that opens the cited passage, or plain text when its address is not one to follow. @param {Node} parent @param {Citation} citation @param {string} className */
function passageLink(parent, citation, className) {
  const url = safeUrl(citation.url ?? "");
  const link = append(parent, url ? "a" : "span", className);
  if (link instanceof HTMLAnchorElement && url) {
    link.href = url;
    link.target = "_blank";
    link.rel = "noopener";
  }
  return link;
}

/** @param {Citation} citation */
function placeOf({ page_title: page, section_title: section }) {
  return section && section !== page ? `${page} › ${section}` : page;
}

/** @param {HTMLElement} meta @param {Answer} answer */
function showConfidence(meta, answer) {
  const level = answer.confidence_level;
  const line = append(meta, "p", "confidence");
  append(line, "span", `badge ${level in LEVELS ? level : ""}`).textContent = LEVELS[level] ?? level;
  const reason = answer.metrics?.reason;
  if (reason) append(line, "span", "reason").textContent = asSentence(reason);
}

/** @param {HTMLElement} meta @param {Answer} answer */
function showCopy(meta, answer) {
  const button = /** @type {HTMLButtonElement} */ (append(meta, "button", "button quiet copy"));
  button.type = "button";
  button.textContent = "Copy";
  button.addEventListener("click", async () => {
    const isCopied = await copyText(asPlainText(answer));
    button.textContent = isCopied ? "Copied" : "Copying is not allowed here";
    setTimeout(() => (button.textContent = "Copy"), 2000);
  });
}

/** @param {string} text */
async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyThroughField(text);
  }
}

/** Pages without https have no clipboard interface. @param {string} text */
function copyThroughField(text) {
  const before = document.activeElement;
  const field = /** @type {HTMLTextAreaElement} */ (append(document.body, "textarea", "visually-hidden"));
  field.value = text;
  field.select();
  const isCopied = document.execCommand("copy");
  field.remove();
  if (before instanceof HTMLElement) before.focus();
  return isCopied;
}

/** @param {Answer} answer */
function asPlainText(answer) {
  const sources = (answer.citations ?? []).map((citation) => {
    const url = safeUrl(citation.url ?? "");
    return `[${citation.n}] ${placeOf(citation)}${url ? ` – ${url}` : ""}`;
  });
  return [answer.response, sources.join("\n")].filter(Boolean).join("\n\n");
}

/** @param {string} text */
function asSentence(text) {
  const sentence = text.trim().charAt(0).toUpperCase() + text.trim().slice(1);
  return /[.!?]$/.test(sentence) ? sentence : `${sentence}.`;
}

/** Empty the place and start a new card in it. @param {HTMLElement} place @param {string} className */
function fresh(place, className) {
  place.replaceChildren();
  return append(place, "div", className);
}
