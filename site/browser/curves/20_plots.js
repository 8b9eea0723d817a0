// @ts-check
/** Curves over steps, tokens or time: real points with their least and greatest, zoom, a cursor. */

/** @typedef {{label: string, color: number, curves: Curves}} Source */
/** @typedef {{source: Source, series: Series, pieces: Point[][]}} Line */

const AXES = { step: "Steps", tokens: "Tokens", time: "Hours" };
const SMOOTH = ["", "10", "100"];
const DOTS = 150; // points; more are not drawn one by one
const LISTED_POINTS = 1000; // rows of the table of values

/** Curves that have one x axis: a plot for each series, in the figures of the page or in a new place. */
class Plots {
  /**
   * @param {string} name of its part of the address
   * @param {HTMLElement} area the element of the figures, or for plots
   * @param {Source[]} sources
   * @param {Map<string, HTMLElement>} [figures] by the key of their series
   */
  constructor(name, area, sources, figures = new Map()) {
    this.name = name;
    this.area = area;
    this.sources = sources;
    this.axis = /** @type {keyof typeof AXES} */ ("step");
    /** @type {[number, number] | null} */
    this.range = null;
    this.smooth = 0;
    this.log = new Set();
    const keys = new Set(sources.flatMap((source) => source.curves.series.map((series) => series.key)));
    this.all = Array.from(keys)
      .filter((key) => !figures.size || figures.has(key))
      .map((key) => new Plot(this, key, figures.get(key) || area));
    const possible = /** @type {(keyof typeof AXES)[]} */ (Object.keys(AXES)).filter((axis) =>
      sources.some((one) => axisOf(one.curves, axis)),
    );
    this.over = make(
      "select",
      { change: () => this.change({ over: this.over.value === "step" ? "" : this.over.value, x: "" }) },
      ...possible.map((axis) => make("option", { value: axis }, AXES[axis])),
    );
    this.smoothing = make(
      "select",
      { change: () => this.change({ smooth: this.smoothing.value }) },
      ...SMOOTH.map((over) => make("option", { value: over }, over ? `Mean of ${over} points` : "None")),
    );
    this.whole = make("button", { type: "button", click: () => this.change({ x: "" }) }, "Whole range");
    this.lacking = make("p", { class: "muted" });
    area.before(
      make(
        "div",
        { class: "curve-tools" },
        make("label", {}, "Over ", this.over),
        make("label", {}, "Smoothing ", this.smoothing),
        this.whole,
        make("span", { class: "muted" }, "Drag to zoom. On the keyboard: arrows, + and −, 0."),
      ),
      this.lacking,
    );
    let width = area.clientWidth;
    new ResizeObserver(() => {
      if (Math.abs(area.clientWidth - width) < 2) return;
      width = area.clientWidth;
      this.show();
    }).observe(area);
    addEventListener("beforeprint", () => this.show());
    onView(() => this.apply());
  }

  /** @param {Record<string, string>} parts */
  change(parts) {
    for (const [part, value] of Object.entries(parts)) keep(`${this.name}.${part}`, value);
    this.apply();
  }

  apply() {
    /** @param {string} part */
    const parameter = (part) => view.get(`${this.name}.${part}`) || "";
    const over = parameter("over");
    this.axis = over === "tokens" || over === "time" ? over : "step";
    const range = parameter("x").split(":").map(Number);
    this.range = parameter("x") && range.length === 2 && range[1] > range[0] ? [range[0], range[1]] : null;
    this.smooth = Math.min(Math.max(Number(parameter("smooth")) || 0, 0), 1e6);
    this.log = new Set(parameter("log").split(","));
    this.over.value = this.axis;
    this.smoothing.value = SMOOTH.includes(parameter("smooth")) ? parameter("smooth") : "";
    this.whole.disabled = !this.range;
    const lack = this.sources.filter((source) => !axisOf(source.curves, this.axis)).map((source) => source.label);
    this.lacking.textContent = lack.length
      ? `Not drawn over ${AXES[this.axis].toLowerCase()}, since what it needs is not stated: ${lack.join(", ")}`
      : "";
    for (const plot of this.all) plot.prepare();
    const all = this.all.flatMap((plot) => plot.lines.flatMap((line) => line.pieces.flat()));
    this.extent = /** @type {[number, number]} */ ([least(all, "at"), greatest(all, "at")]);
    this.show();
  }

  show() {
    for (const plot of this.all) plot.show(this.range || this.extent || [0, 1]);
  }

  /** Put the cursor of all plots at a place of the axis.
   * @param {number | null} at
   */
  point(at) {
    for (const plot of this.all) plot.point(at);
  }

  /** @param {number} low @param {number} high */
  zoom(low, high) {
    const [first, last] = this.extent || [0, 1];
    const a = Math.max(first, low);
    const b = Math.min(last, high);
    if (b > a)
      this.change({
        x: a <= first && b >= last ? "" : `${Number(a.toPrecision(7))}:${Number(b.toPrecision(7))}`,
      });
  }
}

/** @param {Point[]} points @param {"at" | "lo" | "mean"} field */
function least(points, field) {
  return points.reduce((low, point) => Math.min(low, point[field]), Infinity);
}

/** @param {Point[]} points @param {"at" | "hi" | "mean"} field */
function greatest(points, field) {
  return points.reduce((high, point) => Math.max(high, point[field]), -Infinity);
}

/** The cells of a point: a single value for one step, else minimum, mean, maximum.
 * @param {Point} point
 * @returns {[string, string, string, string]} steps, minimum, mean, maximum
 */
function readings(point) {
  const steps =
    point.first === point.last
      ? whole.format(point.first)
      : `${whole.format(point.first)}–${whole.format(point.last)}`;
  return point.n === 1
    ? [steps, "", exact(point.mean), ""]
    : [steps, exact(point.lo), figures(point.mean), exact(point.hi)];
}
