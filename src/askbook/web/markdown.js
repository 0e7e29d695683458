/**
 * The Markdown of answers and quotes, as DOM nodes: text is only ever inserted as text.
 *
 * Paragraphs, headings, lists, quotes, fenced code, tables, rules; bold, italic, code, links, and
 * `[n]`, which becomes whatever `cite(n)` returns.
 *
 * @typedef {(n: number) => Node | null} Cite
 */

const NO_BREAK = "\u2060";
const FENCE = /^\s{0,3}(`{3,}|~{3,})/;
const HEADING = /^\s{0,3}(#{1,6})\s+(.*?)\s*#*\s*$/;
const RULE = /^\s{0,3}([-*_])(\s*\1){2,}\s*$/;
const ITEM = /^(\s*)([-*+]|\d{1,9}[.)])\s+(.*)$/;
const QUOTE = /^\s{0,3}>\s?(.*)$/;
const ROW = /^\s*\|.*\|/;
const TABLE_RULE = /^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$/;

/**
 * @param {string} markdown
 * @param {Cite} [cite]
 * @returns {DocumentFragment}
 */
export function renderMarkdown(markdown, cite = () => null) {
  const fragment = document.createDocumentFragment();
  appendBlocks(fragment, markdown.replace(/\r\n?/g, "\n").split("\n"), cite, 0);
  return fragment;
}

/**
 * The same text on one line, for small places.
 *
 * @param {string} markdown
 * @returns {DocumentFragment}
 */
export function renderInline(markdown) {
  const fragment = document.createDocumentFragment();
  const line = markdown
    .split("\n")
    .filter((text) => !FENCE.test(text) && !TABLE_RULE.test(text))
    .map((text) => text.replace(/^\s*(#{1,6}|[-*+]|>)\s+/, ""))
    .join(" ");
  appendInline(fragment, line.trim(), () => null);
  return fragment;
}

/**
 * @param {Node} parent
 * @param {string[]} lines
 * @param {Cite} cite
 * @param {number} depth
 */
function appendBlocks(parent, lines, cite, depth) {
  let at = 0;
  while (at < lines.length) {
    if (!lines[at].trim()) {
      at += 1;
    } else if (FENCE.test(lines[at])) {
      at = appendCode(parent, lines, at);
    } else if (RULE.test(lines[at])) {
      parent.appendChild(document.createElement("hr"));
      at += 1;
    } else if (HEADING.test(lines[at])) {
      const text = /** @type {RegExpExecArray} */ (HEADING.exec(lines[at]))[2];
      appendInline(append(parent, "p", "subheading"), text, cite);
      at += 1;
    } else if (QUOTE.test(lines[at]) && depth < 8) {
      at = appendQuote(parent, lines, at, cite, depth);
    } else if (ITEM.test(lines[at]) && depth < 8) {
      at = appendList(parent, lines, at, cite, depth);
    } else if (isTable(lines, at)) {
      at = appendTable(parent, lines, at, cite);
    } else {
      at = appendParagraph(parent, lines, at, cite);
    }
  }
}

/** @param {Node} parent @param {string[]} lines @param {number} at */
function appendCode(parent, lines, at) {
  const fence = /** @type {RegExpExecArray} */ (FENCE.exec(lines[at]))[1];
  const isEnd = (line) => line.trim().startsWith(fence) && !line.trim().replaceAll(fence[0], "");
  let end = at + 1;
  while (end < lines.length && !isEnd(lines[end])) end += 1;
  append(append(parent, "pre"), "code").textContent = lines.slice(at + 1, end).join("\n");
  return end + 1;
}

/** @param {Node} parent @param {string[]} lines @param {number} at @param {Cite} cite @param {number} depth */
function appendQuote(parent, lines, at, cite, depth) {
  const inner = [];
  for (let match; at < lines.length && (match = QUOTE.exec(lines[at])); at += 1) inner.push(match[1]);
  appendBlocks(append(parent, "blockquote"), inner, cite, depth + 1);
  return at;
}

/** @param {Node} parent @param {string[]} lines @param {number} at @param {Cite} cite @param {number} depth */
function appendList(parent, lines, at, cite, depth) {
  const [, indent, marker] = /** @type {RegExpExecArray} */ (ITEM.exec(lines[at]));
  const isOrdered = /\d/.test(marker);
  const list = append(parent, isOrdered ? "ol" : "ul");
  if (isOrdered) list.setAttribute("start", String(parseInt(marker, 10)));
  while (at < lines.length) {
    const match = ITEM.exec(lines[at]);
    if (!match || match[1].length !== indent.length || /\d/.test(match[2]) !== isOrdered) break;
    const inner = [match[3]];
    at += 1;
    while (at < lines.length && belongsToItem(lines, at, indent.length)) {
      inner.push(lines[at].slice(Math.min(indent.length + 2, leadingSpaces(lines[at]))));
      at += 1;
    }
    appendBlocks(append(list, "li"), inner, cite, depth + 1);
    while (at < lines.length && !lines[at].trim() && ITEM.test(lines[at + 1] ?? "")) at += 1;
  }
  return at;
}

/** A deeper line, or a line that carries the item's paragraph on. @param {string[]} lines @param {number} at @param {number} indent */
function belongsToItem(lines, at, indent) {
  const line = lines[at];
  if (!line.trim()) return leadingSpaces(lines[at + 1] ?? "") > indent && Boolean(lines[at + 1].trim());
  if (leadingSpaces(line) > indent) return true;
  return Boolean(lines[at - 1].trim()) && !startsBlock(line);
}

/** @param {string} line */
function leadingSpaces(line) {
  return line.length - line.trimStart().length;
}

/** @param {string} line */
function startsBlock(line) {
  return [FENCE, HEADING, RULE, ITEM, QUOTE].some((pattern) => pattern.test(line));
}

/** A table, or rows of one that were quoted without its head. @param {string[]} lines @param {number} at */
function isTable(lines, at) {
  return ROW.test(lines[at]) || hasHead(lines, at);
}

/** @param {string[]} lines @param {number} at */
function hasHead(lines, at) {
  const below = lines[at + 1] ?? "";
  return lines[at].includes("|") && below.includes("-") && TABLE_RULE.test(below);
}

/** @param {Node} parent @param {string[]} lines @param {number} at @param {Cite} cite */
function appendTable(parent, lines, at, cite) {
  const frame = append(parent, "div", "table-frame");
  frame.tabIndex = 0;
  const table = append(frame, "table");
  if (hasHead(lines, at)) {
    appendRow(append(table, "thead"), "th", lines[at], cite);
    at += 2;
  }
  const body = append(table, "tbody");
  for (; at < lines.length && lines[at].includes("|"); at += 1) appendRow(body, "td", lines[at], cite);
  return at;
}

/** @param {Node} parent @param {string} tag @param {string} line @param {Cite} cite */
function appendRow(parent, tag, line, cite) {
  const row = append(parent, "tr");
  const cells = line.trim().replace(/^\||(?<!\\)\|$/g, "").split(/(?<!\\)\|/);
  for (const cell of cells) appendInline(append(row, tag), cell.trim().replaceAll("\\|", "|"), cite);
}

/** @param {Node} parent @param {string[]} lines @param {number} at @param {Cite} cite */
function appendParagraph(parent, lines, at, cite) {
  let end = at + 1;
  while (end < lines.length && lines[end].trim() && !startsBlock(lines[end]) && !isTable(lines, end)) end += 1;
  appendInline(append(parent, "p"), lines.slice(at, end).map((line) => line.trim()).join("\n"), cite);
  return end;
}

const INLINE = new RegExp(
  [
    /(?<ticks>`+)(?<code>[^]*?[^`])\k<ticks>(?!`)/,
    /\\(?<escaped>[!-/:-@[-`{-~])/,
    /!?\[(?<label>[^\]\n]*)\]\((?<url>[^()\s]+)(?:\s+"[^"]*")?\)/,
    /\[(?<numbers>\d{1,3}(?:\s*,\s*\d{1,3})*)\]/,
    /(?<strongMark>\*\*|__)(?=\S)(?<strong>[^]*?\S)\k<strongMark>/,
    /(?<=^|[^\w*])(?<emMark>[*_])(?=[^\s*_])(?<em>[^]*?[^\s*_])\k<emMark>(?![\w*])/,
  ].map((pattern) => pattern.source).join("|"),
);

/** @param {Node} parent @param {string} text @param {Cite} cite */
function appendInline(parent, text, cite) {
  let rest = text;
  for (let match; (match = INLINE.exec(rest)); ) {
    appendMatch(parent, rest.slice(0, match.index), match, cite);
    rest = rest.slice(match.index + match[0].length);
  }
  parent.appendChild(document.createTextNode(rest));
}

/** @param {Node} parent @param {string} before @param {RegExpExecArray} match @param {Cite} cite */
function appendMatch(parent, before, match, cite) {
  const { code, escaped, label, url, numbers, strong, em } = match.groups ?? {};
  if (numbers !== undefined) return appendCitations(parent, before, match[0], numbers, cite);
  parent.appendChild(document.createTextNode(before));
  if (code !== undefined) append(parent, "code").textContent = code.trim() || code;
  else if (escaped !== undefined) parent.appendChild(document.createTextNode(escaped));
  else if (url !== undefined) appendLink(parent, label, url, cite);
  else if (strong !== undefined) appendInline(append(parent, "strong"), strong, cite);
  else appendInline(append(parent, "em"), em, cite);
}

/** Citations stand close to the words they support; unknown numbers stay text. @param {Node} parent @param {string} before @param {string} text @param {string} numbers @param {Cite} cite */
function appendCitations(parent, before, text, numbers, cite) {
  const nodes = numbers.split(",").map((number) => cite(Number(number)));
  const isKnown = nodes.some((node) => node !== null);
  parent.appendChild(document.createTextNode(isKnown ? before.trimEnd() + NO_BREAK : before + text));
  for (const node of nodes) if (node) parent.appendChild(node);
}

/** @param {Node} parent @param {string} label @param {string} url @param {Cite} cite */
function appendLink(parent, label, url, cite) {
  const target = safeUrl(url);
  if (!target) return appendInline(parent, label, cite);
  const link = /** @type {HTMLAnchorElement} */ (append(parent, "a"));
  link.href = target;
  link.target = "_blank";
  link.rel = "noopener noreferrer";
  appendInline(link, label, () => null);
}

/**
 * The address when it leads to the web or to a path of this server; null for everything else.
 *
 * @param {string} url
 */
export function safeUrl(url) {
  if (!/^(https?:\/\/|\/(?![/\\]))/i.test(url)) return null;
  try {
    const { protocol, href } = new URL(url, location.origin);
    return protocol === "https:" || protocol === "http:" ? href : null;
  } catch {
    return null;
  }
}

/**
 * @param {Node} parent
 * @param {string} tag
 * @param {string} [className]
 * @returns {HTMLElement}
 */
export function append(parent, tag, className = "") {
  const element = document.createElement(tag);
  if (className) element.className = className;
  parent.appendChild(element);
  return element;
}
