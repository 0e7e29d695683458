/** The small card beside a citation: where it is from, and the words it rests on. */

import { append, renderInline } from "./markdown.js";

const GAP = 8;

/** @param {HTMLElement} link @param {string} place @param {string} quote */
export function showCard(link, place, quote) {
  const card = theCard();
  card.replaceChildren();
  append(card, "p", "place").textContent = place;
  if (quote) append(card, "p", "quote").appendChild(renderInline(quote));
  card.hidden = false;
  link.setAttribute("aria-describedby", card.id);
  position(card, link.getBoundingClientRect());
}

export function hideCard() {
  theCard().hidden = true;
}

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") hideCard();
});
document.addEventListener("scroll", hideCard, { capture: true, passive: true });

/** Above the link where there is room, else below, and never outside the window. @param {HTMLElement} card @param {DOMRect} link */
function position(card, link) {
  const { width, height } = card.getBoundingClientRect();
  const left = link.left + link.width / 2 - width / 2;
  const above = link.top - height - GAP;
  card.style.left = `${Math.max(GAP, Math.min(left, innerWidth - width - GAP))}px`;
  card.style.top = `${above >= GAP ? above : link.bottom + GAP}px`;
}

function theCard() {
  return /** @type {HTMLElement} */ (document.getElementById("citation-card"));
}
