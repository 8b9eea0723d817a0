// @ts-check
/** Begin: each element of the page that a piece knows is handed to it. */

readAddress();
document.documentElement.classList.add("scripted");
document.body.append(speaker, tip, basketBar);

const tools = document.querySelector("header .tools") || document.querySelector("header");
// A page in one file has no search index.
if (tools) {
  const search = new Search();
  document.body.append(search.dialog);
  tools.append(search.button, themeButton());
}

for (const table of every("table.grid[id]")) startGrid(/** @type {HTMLTableElement} */ (table));
for (const line of every("tr[data-run]")) tickable(/** @type {HTMLTableRowElement} */ (line));
for (const figure of every("figure.chart[id]")) if (figure.querySelector("svg a.mark")) new Chart(figure);
// Most pages have no curves, and do without the script for them.
if (document.querySelector("figure.curve[data-key], #compare")) {
  document.head.append(make("script", { src: `${TOP}assets/curves.js` }));
}
for (const code of every("code.copyable")) code.replaceWith(copyable(code.textContent || ""));
for (const link of every('nav a[href$="compare.html"]')) link.classList.add("to-compare");
// With runs to compare, the table of all is folded, and its data, which may be megabytes, not read.
const everyRun = document.getElementById("every-run");
if (everyRun instanceof HTMLDetailsElement)
  onView(() => (everyRun.open = !basket.asked().length || Array.from(view.keys()).some((name) => name.startsWith("every."))));
basket.show();

const live = Number(document.body.dataset.live);
if (live > 0) followBuilds(live);
