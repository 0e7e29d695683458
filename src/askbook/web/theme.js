/* Before the first paint: the colours the reader chose, else those of the system. */
try {
  document.documentElement.dataset.theme = JSON.parse(localStorage.getItem("askbook.theme")) ?? "";
} catch {
  // Without storage the system decides.
}
