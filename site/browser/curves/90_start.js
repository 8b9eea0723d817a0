// @ts-check
/** Begin with what stands on the page. */

for (const figure of every("figure.curve[id][data-key]")) {
  load(figure.dataset.key || "").then(
    (curves) => new CurveFigure(figure, [{ label: document.title, color: 1, curves }]),
    (error) => complain(figure, error));
}
const comparing = document.getElementById("compare");
if (comparing) startCompare(comparing);
