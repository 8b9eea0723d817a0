// @ts-check
/** Start with the figures on the page: those of one run share their axis. */

/** @type {Map<string, HTMLElement[]>} */
const together = new Map();
for (const figure of every("figure.curve[data-key]")) {
  const key = figure.dataset.key || "";
  together.set(key, [...(together.get(key) || []), figure]);
}
Array.from(together, ([key, figures], at) =>
  load(key).then(
    (curves) => {
      const area = /** @type {HTMLElement} */ (figures[0].parentElement);
      new Plots(
        `curves${at || ""}`,
        area,
        [{ label: document.title, color: 1, curves }],
        new Map(figures.map((figure) => [figure.dataset.series || "", figure])),
      );
    },
    (error) => complain(figures[0], error),
  ),
);
const comparing = document.getElementById("compare");
if (comparing) startCompare(comparing);
