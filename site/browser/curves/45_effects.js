// @ts-check
/** What single changes do between the compared runs. */

/** @typedef {{base: string[], with: string[], change: string, of: string, text: string, range: string,
 *   verdict: string, sure: boolean}} Pair */

/** What one change does between these runs, by the pairs that the build has tested; those that are
 * small or uncertain are folded away.
 * @param {HTMLElement} place
 * @param {Run[]} runs
 */
function showEffects(place, runs) {
  const keys = Array.from(new Set(runs.flatMap((run) => (run.effects ? [run.effects] : []))));
  const ids = new Set(runs.map((run) => String(run.id)));
  /** @param {string[]} side */
  const here = (side) => side.some((id) => ids.has(id));
  Promise.allSettled(keys.map((key) => load(key))).then((answers) => {
    /** @type {Pair[]} */
    const all = answers.flatMap((answer) => (answer.status === "fulfilled" ? answer.value.pairs : []));
    const pairs = all.filter((pair) => here(pair.base) && here(pair.with)).map((pair) => withOthers(pair, ids));
    const sure = pairs.filter((pair) => pair.sure);
    const rest = pairs.filter((pair) => !pair.sure);
    if (!pairs.length)
      place.append(make("p", { class: "muted" }, "Between these runs the effect of no single setting was tested."));
    if (sure.length) place.append(pairTable(sure, "Effects that are sure"));
    if (rest.length)
      place.append(
        make(
          "details",
          pairs.length === 1 ? { open: "" } : {},
          make("summary", {}, `${counted(rest.length, "effect")} that ${rest.length === 1 ? "is" : "are"} small or uncertain`),
          pairTable(rest, "Effects that are small or uncertain"),
        ),
      );
  });
}

/** A side is the median of all runs of its configuration: how many of them are not compared here.
 * @param {Pair} pair @param {Set<string>} ids
 * @returns {Pair}
 */
function withOthers(pair, ids) {
  const others = [...pair.base, ...pair.with].filter((id) => !ids.has(id)).length;
  return others ? { ...pair, of: `${pair.of}; with ${counted(others, "more run")} of the same configurations` } : pair;
}

/** @param {Pair[]} pairs @param {string} label */
function pairTable(pairs, label) {
  const heads = ["Change", "Of", "Speed-up", "95%", "Certainty"];
  const lines = pairs.map((pair) =>
    make(
      "tr",
      {},
      make("th", { scope: "row" }, pair.change),
      make("td", { class: "wide" }, pair.of),
      make("td", { class: "number computed" }, pair.text),
      make("td", { class: "computed" }, pair.range),
      make("td", {}, pair.verdict),
    ),
  );
  return make(
    "div",
    { class: "table-frame", tabindex: "0", role: "region", "aria-label": label },
    make(
      "table",
      {},
      make("thead", {}, make("tr", {}, ...heads.map((head) => make("th", { scope: "col" }, head)))),
      make("tbody", {}, ...lines),
    ),
  );
}
