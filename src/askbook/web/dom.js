/** Elements, and the one place that inserts HTML: the server sanitised it. */

const policy = makePolicy();
const memory = new Map();

export function append(parent, tag, className = "", text = "") {
  const element = document.createElement(tag);
  if (className) element.className = className;
  if (text) element.textContent = text;
  parent.appendChild(element);
  return element;
}

export function addButton(parent, className, label, onClick) {
  const button = append(parent, "button", className, label);
  button.type = "button";
  button.addEventListener("click", onClick);
  return button;
}

/** A button that shows a drawing and says its label. */
export function addIconButton(parent, path, label, onClick) {
  const button = addButton(parent, "icon-button", "", onClick);
  button.title = label;
  button.setAttribute("aria-label", label);
  const namespace = "http://www.w3.org/2000/svg";
  const drawing = document.createElementNS(namespace, "svg");
  drawing.setAttribute("viewBox", "0 0 20 20");
  drawing.setAttribute("aria-hidden", "true");
  const line = document.createElementNS(namespace, "path");
  line.setAttribute("d", path);
  drawing.appendChild(line);
  button.appendChild(drawing);
  return button;
}

/** Show sanitised HTML; what stands there already stays, so that focus and selection survive an answer's growth. */
export function showHtml(element, html) {
  const next = document.createElement("div");
  next.innerHTML = policy ? policy.createHTML(html) : html;
  for (const link of next.querySelectorAll("a:not(.chip)")) link.setAttribute("target", "_blank");
  let same = 0;
  while (element.childNodes[same] && element.childNodes[same].isEqualNode(next.childNodes[same])) same += 1;
  while (element.childNodes.length > same) element.lastChild?.remove();
  element.append(...[...next.childNodes].slice(same));
}

export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyThroughField(text);
  }
}

/** What was kept under a name, in the browser's `area` or, where that is closed, in this page. */
export function recall(area, name) {
  try {
    return JSON.parse(window[area].getItem(name));
  } catch {
    return memory.get(name) ?? null;
  }
}

export function remember(area, name, value) {
  memory.set(name, value);
  try {
    if (value === null) window[area].removeItem(name);
    else window[area].setItem(name, JSON.stringify(value));
  } catch {
    // A full or forbidden store costs what a reload would find, nothing else.
  }
}

/** Pages without https have no clipboard interface. */
function copyThroughField(text) {
  const before = document.activeElement;
  const field = append(document.body, "textarea");
  field.value = text;
  field.select();
  const isCopied = document.execCommand("copy");
  field.remove();
  if (before instanceof HTMLElement) before.focus();
  return isCopied;
}

/** Sites that demand Trusted Types allow ours by its name, `askbook`. */
function makePolicy() {
  const types = globalThis.trustedTypes;
  try {
    return types?.createPolicy("askbook", { createHTML: (html) => html });
  } catch {
    return null;
  }
}
