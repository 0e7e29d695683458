/** Brings the cited passage into view, unless the heading the link names already shows it. */

const quote = document.querySelector("mark#quote, .cited#quote");

if (quote) {
  // After the browser's own jump to the anchor.
  requestAnimationFrame(() => setTimeout(() => reveal(quote)));
}

/** @param {Element} passage */
function reveal(passage) {
  const { top, bottom } = passage.getBoundingClientRect();
  const isVisible = top >= 0 && Math.min(bottom, top + 80) <= innerHeight;
  if (!location.hash || !isVisible) passage.scrollIntoView({ block: "center" });
}
