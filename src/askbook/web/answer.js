/** What one turn looks like: the question, then its answer, "not in the book", or what went wrong. */

import { addButton, addIconButton, append, copyText, showHtml } from "./dom.js";

const LEVELS = { high: "High confidence", medium: "Medium confidence", low: "Low confidence" };
const COPY = "M7 7V4.5h8.5V13H13M4.5 7H13v8.5H4.5z";
const AGAIN = "M15.5 10a5.5 5.5 0 1 1-1.6-3.9M15.8 3.6v3.2h-3.2";
const UP = "M6 9v7H3.8V9zm0 0 3.2-5.6c1.4 0 2 .9 1.7 2.2L10.4 8H15c1 0 1.6.8 1.4 1.7l-1.1 5c-.2.8-.8 1.3-1.6 1.3H6";
const DOWN = "M14 11V4h2.2v7zm0 0-3.2 5.6c-1.4 0-2-.9-1.7-2.2l.5-2.4H5c-1 0-1.6-.8-1.4-1.7l1.1-5C4.9 4.5 5.5 4 6.3 4H14";

export function showQuestion(turn, question, selection) {
  const bubble = append(turn, "div", "question");
  append(bubble, "span", "visually-hidden", "You asked: ");
  if (selection) append(bubble, "blockquote", "", selection);
  const text = append(bubble, "span", "", question);
  text.dir = "auto";
}

export function showProgress(place, words) {
  const known = place.querySelector(".progress span:last-child");
  if (known) known.textContent = words;
  else {
    const progress = append(fresh(place, "answer"), "p", "progress");
    const dots = append(progress, "span", "dots");
    dots.setAttribute("aria-hidden", "true");
    append(progress, "span", "", words);
  }
}

/** The answer as far as it is checked. */
export function growAnswer(place, html) {
  const card = place.firstElementChild ?? fresh(place, "answer");
  const prose = card.querySelector(".prose") ?? document.createElement("div");
  prose.className = "prose";
  card.prepend(prose);
  showHtml(prose, html);
}

export function showAnswer(place, answer, actions) {
  if (!answer.should_answer) return showDeclined(place, answer, actions);
  growAnswer(place, answer.html);
  const card = place.firstElementChild;
  const prose = card.firstElementChild;
  for (const other of [...card.children].slice(1)) other.remove();
  const last = prose.lastElementChild;
  // The book's own words of caution stand last and cite nothing.
  if (answer.confidence_level === "low" && last?.matches("p:not(:has(.chip))")) last.classList.add("caution");
  for (const code of prose.querySelectorAll("pre")) frameCode(code);
  connectChips(prose, answer, actions);
  if (answer.citations.length) showSources(card, answer, actions);
  const meta = append(card, "div", "meta");
  const confidence = append(meta, "p", "confidence");
  append(confidence, "span", `badge ${answer.confidence_level}`, LEVELS[answer.confidence_level] ?? "Confidence unknown");
  if (answer.reason) append(confidence, "span", "reason", answer.reason);
  showActions(meta, card, answer, actions);
}

function showDeclined(place, answer, actions) {
  const card = fresh(place, "answer declined");
  const wasAsked = answer.response !== answer.reason; // a "thanks" is not
  if (wasAsked) append(card, "p", "verdict", "Not in the book");
  showHtml(append(card, "div", "prose"), answer.html);
  if (!answer.response.includes(answer.reason)) append(card, "p", "reason", answer.reason);
  if (answer.nearest.length) {
    append(card, "h3", "", "The nearest lessons");
    showPlaces(card, answer.nearest, actions);
  }
  if (wasAsked) append(card, "p", "advice", "Try the book’s own words, or ask about a smaller part of your question.");
  showActions(append(card, "div", "meta"), card, answer, actions);
}

export function showError(place, error, retry) {
  const card = fresh(place, "answer failure");
  card.setAttribute("role", "alert");
  append(card, "p", "verdict", error.message);
  if (error.suggestion) append(card, "p", "", error.suggestion);
  countDown(addButton(card, "button", "Try again", retry), error.retryAfter);
}

/** What was said stays; the rest can be asked for again. */
export function showStopped(place, retry) {
  const card = place.firstElementChild ?? fresh(place, "answer");
  card.querySelector(".progress")?.remove();
  const note = append(card, "div", "stopped");
  append(note, "p", "", "Stopped.");
  addButton(note, "button", "Ask again", retry);
}

/** From when the server allows it. */
function countDown(button, seconds) {
  button.disabled = seconds > 0;
  button.textContent = seconds > 0 ? `Try again in ${seconds} s` : "Try again";
  if (seconds > 0) setTimeout(() => countDown(button, seconds - 1), 1000);
}

function connectChips(prose, answer, actions) {
  for (const chip of prose.querySelectorAll(".chip")) {
    const citation = answer.citations.find(({ n }) => n === Number(chip.dataset.n));
    if (citation) leadTo(chip, citation, actions);
  }
}

function showSources(card, { citations }, actions) {
  append(card, "h3", "", citations.length === 1 ? "Source" : "Sources");
  showPlaces(card, citations, actions);
}

function showPlaces(card, places, actions) {
  const list = append(card, "ol", "places");
  for (const place of places) {
    const link = append(append(list, "li"), "a", "place");
    append(link, "span", "number", String(place.n)).setAttribute("aria-hidden", "true");
    const text = append(link, "span", "where");
    append(text, "span", "title", placeOf(place));
    if (place.quote) append(text, "q", "", plain(place.quote));
    leadTo(link, place, actions);
  }
}

function leadTo(link, citation, actions) {
  const url = actions.url(citation.url ?? "");
  if (url) link.href = url;
  link.addEventListener("click", (event) => {
    if (!event.ctrlKey && !event.metaKey && !event.shiftKey) actions.open(citation, link, event);
  });
}

function showActions(meta, card, answer, actions) {
  const row = append(meta, "div", "actions");
  addCopyButton(row, "Copy", () => asText(answer, actions));
  addIconButton(row, AGAIN, "Ask again", actions.retry);
  const up = addIconButton(row, UP, "Helpful", () => rate("up"));
  const down = addIconButton(row, DOWN, "Not helpful", () => rate("down"));
  for (const thumb of [up, down]) thumb.setAttribute("aria-pressed", "false");

  async function rate(rating, comment) {
    const thanks = card.querySelector(".thanks") ?? append(card, "div", "thanks");
    thanks.setAttribute("role", "status");
    thanks.replaceChildren();
    try {
      await actions.rate(rating, comment);
    } catch (error) {
      const isKnown = ![404, 405].includes(error.status);
      append(thanks, "p", "", isKnown ? "Your rating could not be kept." : "This server keeps no ratings.");
      return;
    }
    up.setAttribute("aria-pressed", String(rating === "up"));
    down.setAttribute("aria-pressed", String(rating === "down"));
    if (rating === "up" || comment) append(thanks, "p", "", "Thank you.");
    else askWhy(thanks, (why) => rate("down", why));
  }
}

function askWhy(place, onSent) {
  const form = append(place, "form", "why");
  const field = append(form, "input");
  field.setAttribute("aria-label", "What was wrong?");
  field.placeholder = "Thank you. What was wrong? (optional)";
  field.maxLength = 1000;
  append(form, "button", "button", "Send").type = "submit";
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (field.value.trim()) onSent(field.value.trim());
  });
}

function frameCode(code) {
  const frame = document.createElement("div");
  frame.className = "code-frame";
  code.replaceWith(frame);
  frame.append(code);
  addCopyButton(frame, "Copy code", () => code.textContent);
}

/** A button that copies what `text` gives, and says for a moment that it did. */
function addCopyButton(parent, label, text) {
  const button = addIconButton(parent, COPY, label, async () => {
    const words = (await copyText(text())) ? "Copied" : "Copying is not allowed here";
    button.dataset.done = words;
    button.setAttribute("aria-label", words);
    setTimeout(() => {
      delete button.dataset.done;
      button.setAttribute("aria-label", label);
    }, 2000);
  });
}

function asText({ response, citations }, actions) {
  const sources = citations.map((citation) => `[${citation.n}] ${placeOf(citation)} – ${actions.url(citation.url)}`);
  return [response, sources.join("\n")].filter(Boolean).join("\n\n");
}

export function placeOf({ page_title: title, section_title: section, page }) {
  const place = section && section !== title ? `${title} › ${section}` : title;
  return page ? `${place}, p. ${page}` : place;
}

/** Markdown less its marks, for a line of preview. */
function plain(markdown) {
  const words = markdown.replace(/!?\[([^\]]*)\]\([^)]*\)/g, "$1");
  return words.replace(/^\s*(#{1,6}|[-*+>]|`{3,}.*)\s*/gm, "").replace(/[*`]+/g, "").replace(/[|\s]+/g, " ").trim();
}

function fresh(place, className) {
  place.replaceChildren();
  return append(place, "div", className);
}
