/** The author's page: books, ingestion with live progress, gaps, votes, evaluation. */

import { Server } from "./api.js";
import { addButton, append, recall, remember } from "./dom.js";

const KEY = "askbook.key";
const byId = (id) => document.getElementById(id);
const server = new Server(new URL("../", import.meta.url), () => {
  const key = recall("localStorage", KEY);
  return key ? { Authorization: `Bearer ${key}` } : {};
});
/** The job cards by job, so that progress finds its place. */
const cards = new Map();

byId("key-form").addEventListener("submit", (event) => {
  event.preventDefault();
  remember("localStorage", KEY, byId("key").value.trim());
  byId("key").value = "";
  load();
});
load();

async function load() {
  byId("key-form").hidden = true;
  byId("trouble").hidden = true;
  try {
    const [books, jobs] = await Promise.all([server.json("books"), server.json("ingestion/jobs")]);
    showBooks(books);
    showJobs(jobs);
    await Promise.all([showGaps(books), showVotes(books), showEvaluation()]);
  } catch (error) {
    complain(error);
  }
}

function complain(error) {
  if (error.status === 401) {
    byId("books").replaceChildren();
    byId("key-form").hidden = false;
    byId("key").focus();
    return;
  }
  byId("trouble").textContent = `${error.message} ${error.suggestion ?? ""}`;
  byId("trouble").hidden = false;
}

// --- Books ---

function showBooks(books) {
  byId("books").replaceChildren();
  if (books.length === 0) append(byId("books"), "p", "note", "There is no book yet. Add one with: askbook ingest PATH");
  for (const book of books) {
    const card = append(byId("books"), "article", "card");
    const row = append(card, "div", "row");
    append(row, "h3", "", book.title);
    const mode = append(row, "select");
    mode.setAttribute("aria-label", `How to ingest ${book.title}`);
    append(mode, "option", "", "Only what changed").value = "incremental";
    append(mode, "option", "", "Every lesson").value = "full";
    addButton(row, "button", "What would change?", () => showChanges(book, note));
    addButton(row, "button primary", "Ingest", () => ingest(book, mode.value));
    append(card, "p", "note", `${book.book_id} · ${book.lessons} lessons · ${book.chunks} chunks · calibration: ${book.calibration}`);
    const note = append(card, "p", "note");
    note.setAttribute("role", "status");
  }
}

async function showChanges(book, note) {
  note.textContent = "Looking at the files…";
  try {
    const found = await server.json(`ingestion/changes?book_id=${encodeURIComponent(book.book_id)}`);
    const counts = ["new", "modified", "moved", "deleted", "failed"].map((name) => `${found[name].length} ${name}`);
    note.textContent = `${counts.join(", ")}, ${found.unchanged} unchanged.`;
  } catch (error) {
    note.textContent = `${error.message} ${error.suggestion ?? ""}`;
  }
}

async function ingest(book, mode) {
  try {
    const job = await server.json("ingestion/trigger", { method: "POST", body: { book_id: book.book_id, mode } });
    showJob(job, { isNew: true });
    follow(job);
  } catch (error) {
    complain(error);
  }
}

// --- Jobs ---

function showJobs(jobs) {
  byId("jobs").replaceChildren();
  cards.clear();
  if (jobs.length === 0) append(byId("jobs"), "p", "note", "No job has run yet.");
  for (const job of jobs) {
    showJob(job);
    if (!isOver(job)) follow(job);
  }
}

function isOver(job) {
  return job.status === "completed" || job.status === "failed";
}

/** Every event brings the job as it stands; the first and the last also its warnings. */
async function follow(job) {
  let latest = job;
  try {
    for await (const { data } of server.events(`ingestion/status/${job.job_id}`)) {
      latest = { ...latest, ...data.job };
      showJob(latest);
    }
    if (isOver(latest)) showBooks(await server.json("books"));
  } catch (error) {
    complain(error);
  }
}

function showJob(job, { isNew = false } = {}) {
  let card = cards.get(job.job_id);
  if (!card) {
    card = append(byId("jobs"), "article", "card");
    if (isNew) byId("jobs").prepend(card);
    cards.set(job.job_id, card);
    byId("jobs").querySelector(":scope > .note")?.remove();
  }
  card.replaceChildren();
  const row = append(card, "div", "row");
  append(row, "h3", "", `${job.book_id}, job ${job.job_id}`);
  append(row, "span", `badge ${job.status}`, job.status);
  if (!isOver(job)) addButton(row, "button", "Cancel", () => server.json(`ingestion/cancel/${job.job_id}`, { method: "POST" }).catch(complain));
  const done = job.files_processed + job.files_skipped + job.files_failed;
  if (!isOver(job)) {
    const bar = append(card, "progress");
    bar.setAttribute("aria-label", "Lessons done");
    bar.max = Math.max(job.files_discovered, 1);
    bar.value = done;
  }
  const when = new Date(job.completed_at ?? job.started_at ?? job.queued_at).toLocaleString();
  append(card, "p", "note", `${done} of ${job.files_discovered} lessons, ${job.embedded_chunks} chunks embedded, ${job.mode}, ${when}`);
  if (job.error_message) append(card, "p", "notice", job.error_message);
  const failures = (job.failures ?? []).map(({ source_file: file, reason }) => `${file}: ${reason}`);
  showList(card, "warning", job.warnings ?? []);
  showList(card, "failed lesson", failures);
}

function showList(card, name, lines) {
  if (lines.length === 0) return;
  const details = append(card, "details");
  append(details, "summary", "", `${lines.length} ${name}${lines.length === 1 ? "" : "s"}`);
  const list = append(details, "ul");
  for (const line of lines) append(list, "li", "", line);
}

// --- What readers tell ---

async function showGaps(books) {
  byId("gaps").replaceChildren();
  const rows = [];
  for (const book of books) {
    const found = await server.json(`gaps?limit=50&book_id=${encodeURIComponent(book.book_id)}`);
    for (const gap of found.clusters) {
      const more = gap.other_wordings.length ? `also: ${gap.other_wordings.slice(0, 3).join(" · ")}` : "";
      rows.push([[gap.question, more], [String(gap.count)], [gap.last_asked], [gap.nearest_lesson?.page_title ?? "none"]]);
    }
  }
  showTable(byId("gaps"), ["Question", "Asked", "Last", "Nearest lesson"], rows, "Nothing was asked in vain so far.");
}

async function showVotes(books) {
  byId("votes").replaceChildren();
  const rows = [];
  for (const book of books) {
    const found = await server.json(`feedback?rating=down&book_id=${encodeURIComponent(book.book_id)}`).catch(() => ({ votes: [] }));
    for (const vote of found.votes) rows.push([[vote.question], [vote.answer, vote.comment ? `“${vote.comment}”` : ""], [vote.given_at.slice(0, 10)]]);
  }
  showTable(byId("votes"), ["Question", "Answer", "When"], rows, "No answer was voted down.");
}

/** A cell is its text, and what stands small below it. */
function showTable(place, heads, rows, otherwise) {
  if (rows.length === 0) return append(place, "p", "note", otherwise);
  const frame = append(place, "div", "table-frame");
  frame.tabIndex = 0;
  const table = append(frame, "table");
  const head = append(append(table, "thead"), "tr");
  for (const name of heads) append(head, "th", "", name).scope = "col";
  const body = append(table, "tbody");
  for (const cells of rows) {
    const row = append(body, "tr");
    for (const [text, more] of cells) {
      const cell = append(row, "td", "", text);
      if (more) append(cell, "span", "note", more);
    }
  }
}

async function showEvaluation() {
  byId("evaluation").replaceChildren();
  try {
    const report = await server.request("evaluation", { accept: "text/html" });
    // A link would carry no key.
    const page = URL.createObjectURL(await report.blob());
    const link = append(byId("evaluation"), "a", "", "Open the report");
    link.href = recall("localStorage", KEY) ? page : server.url("evaluation");
    link.target = "_blank";
  } catch (error) {
    append(byId("evaluation"), "p", "note", `${error.message} ${error.suggestion ?? ""}`);
  }
}
