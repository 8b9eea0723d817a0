// @ts-check
/** The page that compares: facts of runs side by side, their curves over each other. */

const PARTLY_FITS = 20; // facts that some runs leave out; the arguments of a log are hundreds

/** @param {HTMLElement} place */
function startCompare(place) {
  const fallback = Array.from(place.childNodes);
  let shown = "";
  let started = false;
  onView(() => {
    const requested = view.get("runs");
    if (requested !== undefined) basket.set(requested.split(","));
    const ids = requested === undefined ? basket.asked() : basket.ids;
    keep("runs", ids.join(","));
    basket.show();
    if (ids.join(",") === shown && shown) return;
    shown = ids.join(",");
    if (!ids.length) {
      started = true;
      return place.replaceChildren(...fallback);
    }
    Promise.allSettled(ids.map((id) => load(`runs/${id}`))).then((answers) => {
      if (ids.join(",") !== shown) return;
      place.replaceChildren();
      if (started) scrollTo({ top: 0 }); // it was chosen in the table below
      started = true;
      /** @type {Run[]} */
      const runs = answers.flatMap((answer) => (answer.status === "fulfilled" ? [answer.value] : []));
      const lost = ids.filter((_, at) => answers[at].status === "rejected");
      if (lost.length)
        place.append(make("p", { class: "failed", role: "alert" }, `Not in this site: ${lost.join(", ")}`));
      if (runs.length) compared(place, runs);
    });
  });
}

/** @param {HTMLElement} place @param {Run[]} runs */
function compared(place, runs) {
  const command = `bench compare ${runs.map((run) => run.id).join(" ")}`;
  place.append(
    make(
      "p",
      {},
      "Single runs differ by chance too: effects are computed only for runs that differ in one setting. ",
      copyable(command),
      " gives intervals.",
    ),
  );
  const figure = make("div", { class: "figures" });
  const effects = make("div", { class: "effects" });
  const differ = make("input", {
    type: "checkbox",
    change: () => {
      keep("all", differ.checked ? "" : "1");
      table();
    },
  });
  const frame = make("div", {
    class: "table-frame",
    tabindex: "0",
    role: "region",
    "aria-label": "Facts side by side",
  });
  const rest = make("details", {});
  const number = make("span", { class: "count" });
  const table = () => {
    differ.checked = view.get("all") !== "1";
    number.textContent = sideBySide(frame, rest, runs, differ.checked);
  };
  place.append(
    make("h2", {}, "Effects"),
    effects,
    make("h2", {}, "Facts and settings"),
    make("div", { class: "grid-tools" }, make("label", { class: "tick" }, differ, "Only what differs"), number),
    frame,
    rest,
    make("h2", {}, "Curves"),
    figure,
  );
  onView(table);
  showEffects(effects, runs);
  Promise.allSettled(
    runs.map((run) => (run.series === false ? Promise.reject() : load(`runs/${run.id}/series`))),
  ).then((answers) => {
    const sources = answers.flatMap((answer, at) =>
      answer.status === "fulfilled" && answer.value.series.length
        ? [{ label: runs[at].title, color: at + 1, curves: answer.value }]
        : [],
    );
    const without = runs
      .filter((run) => !sources.some((source) => source.label === run.title))
      .map((run) => run.title);
    if (without.length)
      figure.before(make("p", { class: "muted" }, `Without values over steps: ${without.join(", ")}`));
    if (sources.length) new Plots("curves", figure, inOneUnit(sources));
  });
}

/** @type {Record<string, number>} */
const BYTES = { B: 1, KB: 1e3, MB: 1e6, GB: 1e9, TB: 1e12, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, TiB: 2 ** 40 };

/** A fact's number; of memory in bytes, as logs print it in several units.
 * @param {Fact | undefined} fact
 */
function sized(fact) {
  const value = fact?.[3];
  return typeof value === "number" ? value * (BYTES[String(fact?.[2]).split(" ")[1]] || 1) : null;
}

/** The curves with memory in GB where logs print it in several units: one axis cannot have two.
 * @param {Source[]} sources
 * @returns {Source[]}
 */
function inOneUnit(sources) {
  /** @type {Map<string, Set<string>>} */
  const units = new Map();
  for (const { curves } of sources)
    for (const one of curves.series) units.set(one.key, (units.get(one.key) || new Set()).add(one.unit || ""));
  /** @param {Series} one @returns {Series} */
  const converted = (one) => {
    const named = Array.from(units.get(one.key) || []);
    if (named.length < 2 || !named.every((unit) => BYTES[unit])) return one;
    const factor = BYTES[one.unit || ""] / BYTES.GB;
    /** @param {(number | null)[]} values */
    const scaled = (values) => values.map((value) => value && value * factor);
    return { ...one, unit: "GB", lo: scaled(one.lo), hi: scaled(one.hi), mean: scaled(one.mean) };
  };
  return sources.map((one) => ({ ...one, curves: { ...one.curves, series: one.curves.series.map(converted) } }));
}

/** One row per fact, one column per run; differences from the first are marked, numbers with ratio.
 * @param {HTMLElement} frame
 * @param {HTMLElement} rest for facts that some runs do not state, folded
 * @param {Run[]} runs
 * @param {boolean} differ
 * @returns {string} how many rows it has, and how many are alike
 */
function sideBySide(frame, rest, runs, differ) {
  /** @type {Map<string, {title: string, cells: (Fact | undefined)[], derived: boolean}>} */
  const rows = new Map();
  runs.forEach((run, at) => {
    for (const fact of factsOf(run)) {
      const row = rows.get(fact[0]) || { title: fact[1], cells: [], derived: fact[6] !== undefined };
      row.cells[at] = fact;
      rows.set(fact[0], row);
    }
  });
  /** @param {Fact | undefined} fact */
  const text = (fact) => fact?.[2] || "";
  repeatsOut(rows, runs.length);
  const unlike = Array.from(rows.values()).filter((row) =>
    runs.some((_, at) => text(row.cells[at]) !== text(row.cells[0])),
  );
  const wanted = differ && runs.length > 1 ? unlike : Array.from(rows.values());
  // Facts stated by all runs are more informative than gaps of one log.
  /** @param {{cells: (Fact | undefined)[]}} row */
  const lacking = (row) => runs.filter((_, at) => !text(row.cells[at])).length;
  wanted.sort((a, b) => lacking(a) - lacking(b));
  // Equal where stated: these only show which logs print their arguments.
  const partly = wanted.filter(
    (row) => lacking(row) > 0 && new Set(row.cells.map(text).filter(Boolean)).size === 1,
  );
  const folded = partly.length > PARTLY_FITS;
  rest.hidden = !folded;
  rest.replaceChildren();
  if (folded)
    rest.append(
      make(
        "summary",
        {},
        `${counted(partly.length, "fact")} that some of these runs do not state, and in which the others agree`,
      ),
      make(
        "div",
        { class: "table-frame", tabindex: "0", role: "region", "aria-label": "Facts that some runs do not state" },
        sideTable(runs, partly, text),
      ),
    );
  frame.replaceChildren(sideTable(runs, folded ? wanted.filter((row) => !partly.includes(row)) : wanted, text));
  return differ
    ? `${counted(unlike.length, "row")}; ${whole.format(rows.size - unlike.length)} more are the same`
    : counted(rows.size, "row");
}

/** Take out what a table or a log states, where the configuration or a result says it.
 * @param {Map<string, {title: string, cells: (Fact | undefined)[], derived: boolean}>} rows
 * @param {number} count
 */
function repeatsOut(rows, count) {
  /** @param {(Fact | undefined)[]} cells */
  const numbers = (cells) => {
    const all = Array.from({ length: count }, (_, at) => cells[at]?.[3] ?? cells[at]?.[2] ?? "");
    return all.join("\n");
  };
  const known = new Set(Array.from(rows, ([key, row]) => (key.includes(".") && !row.derived ? "" : numbers(row.cells))));
  for (const [key, row] of rows) {
    const text = numbers(row.cells);
    const same = rows.get(key.slice(key.indexOf(".") + 1));
    const repeats = same && row.cells.every((cell, at) => !cell?.[2] || String(cell[3] ?? cell[2]) === String(same.cells[at]?.[3] ?? same.cells[at]?.[2]));
    if (!row.derived && key.includes(".") && text && (repeats || known.has(text))) rows.delete(key);
  }
}

/** @param {Run[]} runs
 * @param {{title: string, cells: (Fact | undefined)[], derived: boolean}[]} wanted
 * @param {(fact: Fact | undefined) => string} text
 */
function sideTable(runs, wanted, text) {
  const head = runs.map((run, at) =>
    make(
      "th",
      { scope: "col" },
      make("span", { class: `swatch s${at + 1}` }),
      make("a", { href: linked(run.href) }, ...placeParts(run.title)),
      make(
        "button",
        {
          type: "button",
          class: "close",
          "aria-label": `Take ${run.title} out`,
          click: () => {
            keep(
              "runs",
              runs
                .filter((one) => one !== run)
                .map((one) => one.id)
                .join(","),
            );
            basket.tick(String(run.id), false);
            for (const apply of viewers) apply();
          },
        },
        "×",
      ),
    ),
  );
  const body = wanted.map((row) =>
    make(
      "tr",
      {},
      make("th", { scope: "row" }, row.title),
      ...runs.map((_, at) => {
        const cell = make("td", {
          class: at && text(row.cells[at]) !== text(row.cells[0]) ? "unlike" : null,
        });
        // A ratio of results says something, one of versions or of sizes does not.
        const value = row.derived ? sized(row.cells[at]) : null;
        const base = sized(row.cells[0]);
        cell.append(factText(row.cells[at]) || make("span", { class: "muted" }, "not stated"));
        if (
          at &&
          typeof value === "number" &&
          typeof base === "number" &&
          base &&
          value !== base &&
          value / base > 0
        ) {
          cell.append(
            " ",
            make("span", { class: "muted" }, `${short.format(Number((value / base).toPrecision(3)))}×`),
          );
        }
        return cell;
      }),
    ),
  );
  return make(
    "table",
    { class: "side" },
    make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "Fact"), ...head)),
    make("tbody", {}, ...body),
  );
}
