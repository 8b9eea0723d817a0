// @ts-check
/** One plot of a figure of curves. */

const LEFT = 62,
  RIGHT = 28,
  UP = 8,
  DOWN = 24,
  HIGH = 190; // pixels around and of a plot

class Plot {
  /** @param {Plots} plots @param {string} key @param {HTMLElement} place a figure whose drawing it replaces */
  constructor(plots, key, place) {
    this.plots = plots;
    this.key = key;
    const named = plots.sources.flatMap((source) => source.curves.series.filter((series) => series.key === key));
    this.title = named[0].title;
    this.unit = named[0].unit || "";
    /** @type {Line[]} */
    this.lines = [];
    /** @type {Point[]} the points a cursor walks over */
    this.stops = [];
    /** @type {number | null} */
    this.cursor = null;
    this.x = scale(0, 1, 0, 1);
    this.y = this.x;
    /** @type {[number, number]} */
    this.shown = [0, 1];
    this.width = 280;
    this.heading = make("span", { class: "plot-title" }, this.unit ? `${this.title}, ${this.unit}` : this.title);
    this.readout = make("output", { class: plots.sources.length > 1 ? "readout many" : "readout" });
    this.log = make("input", { type: "checkbox", change: () => this.toggleLog() });
    this.svg = draw("svg", { role: "img", tabindex: "0", height: HIGH, class: "plot" });
    this.values = make(
      "details",
      { class: "as-table", toggle: () => this.list() },
      make("summary", {}, "Values as a table"),
    );
    const caption = place.querySelector("figcaption");
    for (const still of every(":scope > svg", place)) still.remove();
    this.root = make(
      "div",
      { class: "plot-frame" },
      make(
        "div",
        { class: "plot-head" },
        ...(caption ? [] : [this.heading]),
        this.readout,
        make("label", { class: "tick" }, this.log, "Log"),
      ),
      this.svg,
      this.values,
    );
    place.append(this.root);
    this.listen();
  }

  /** Points on the axis of the figure. */
  prepare() {
    const { sources, axis, log } = this.plots;
    this.lines = sources.flatMap((source) => {
      const over = axisOf(source.curves, axis);
      const series = source.curves.series.find((one) => one.key === this.key);
      return over && series ? [{ source, series, pieces: piecesOf(series, over) }] : [];
    });
    this.log.checked = log.has(this.key);
    this.cursor = null;
  }

  /** Draw a range of x.
   * @param {[number, number]} range
   */
  show(range) {
    const width = Math.max(this.root.clientWidth, 240);
    this.width = width;
    this.shown = range;
    const log = this.log.checked;
    this.x = scale(range[0], range[1], LEFT, width - RIGHT);
    const seen = this.lines.map((line) => ({
      ...line,
      pieces: line.pieces.map((piece) => within(piece, range).filter((point) => !log || point.lo > 0)),
    }));
    const all = seen.flatMap((line) => line.pieces.flat());
    this.stops = all.slice().sort((a, b) => a.at - b.at);
    const low = all.length ? least(all, "lo") : 0;
    const high = all.length ? greatest(all, "hi") : 1;
    const air = log ? 0 : (high - low) * 0.05 || Math.abs(high) * 0.05 || 1;
    this.y = scale(log ? low : low - air, log ? high : high + air, HIGH - DOWN, UP, log);
    this.svg.setAttribute("width", String(width));
    this.svg.setAttribute("viewBox", `0 0 ${width} ${HIGH}`);
    this.svg.setAttribute(
      "aria-label",
      `${this.title} over ${AXES[this.plots.axis].toLowerCase()}, ${all.length ? `from ${figures(low)} to ${figures(high)} ${this.unit}` : "no values"}`,
    );
    this.hair = draw("line", { class: "hair", y1: UP, y2: HIGH - DOWN, visibility: "hidden" });
    this.dots = draw("g", { class: "dots" });
    this.band = draw("rect", {
      class: "selecting",
      y: UP,
      height: HIGH - UP - DOWN,
      visibility: "hidden",
    });
    this.svg.replaceChildren(
      drawAxes(this, range, [low - air, high + air]),
      drawEvents(this, range),
      ...seen.flatMap((line) => drawCurve(this, line)),
      this.band,
      this.hair,
      this.dots,
    );
    if (!all.length)
      this.svg.replaceChildren(
        draw(
          "text",
          { class: "nothing", x: width / 2, y: HIGH / 2, "text-anchor": "middle" },
          "No values in this range",
        ),
      );
    if (this.values.open) this.list();
    this.point(this.cursor);
  }

  // --- pointer, keys, cursor

  listen() {
    let start = NaN;
    /** @param {PointerEvent} event */
    const place = (event) =>
      Math.min(Math.max(event.clientX - this.svg.getBoundingClientRect().left, LEFT), this.width - RIGHT);
    this.svg.addEventListener("pointerdown", (event) => {
      if (event.button) return;
      start = place(event);
      this.svg.setPointerCapture(event.pointerId);
    });
    this.svg.addEventListener("pointermove", (event) => {
      const here = place(event);
      this.plots.point(this.value(here));
      if (Number.isNaN(start)) return;
      fill(
        /** @type {Element} */ (this.band),
        { x: Math.min(start, here), width: Math.abs(here - start), visibility: "visible" },
        [],
      );
    });
    this.svg.addEventListener("pointerup", (event) => {
      const [from, here] = [start, place(event)];
      start = NaN;
      this.band?.setAttribute("visibility", "hidden");
      if (Math.abs(here - from) > 5)
        this.plots.zoom(this.value(Math.min(from, here)), this.value(Math.max(from, here)));
    });
    this.svg.addEventListener(
      "pointercancel",
      () => ((start = NaN), this.band?.setAttribute("visibility", "hidden")),
    );
    this.svg.addEventListener("pointerleave", () => this.plots.point(null));
    this.svg.addEventListener("dblclick", () => this.plots.change({ x: "" }));
    this.svg.addEventListener("keydown", (event) => this.pressed(event));
  }

  /** The value of x under a pixel. @param {number} pixel */
  value(pixel) {
    return this.shown[0] + ((pixel - LEFT) / (this.width - LEFT - RIGHT)) * (this.shown[1] - this.shown[0]);
  }

  /** @param {KeyboardEvent} event */
  pressed(event) {
    const {
      stops,
      shown: [low, high],
    } = this;
    if (!stops.length) return;
    const here = stops.findIndex((stop) => stop.at >= (this.cursor ?? low));
    const far = event.shiftKey ? 20 : 1;
    const to = {
      ArrowLeft: here - far,
      ArrowRight: this.cursor === null ? here : here + far,
      Home: 0,
      End: stops.length - 1,
    }[event.key];
    if (to !== undefined) {
      this.plots.point(stops[Math.min(Math.max(to, 0), stops.length - 1)].at);
      say(`${this.title}: ${this.readout.textContent}`);
    } else if (event.key === "+" || event.key === "=" || event.key === "-") {
      const half = ((high - low) / 2) * (event.key === "-" ? 2 : 0.5);
      const middle = this.cursor ?? (low + high) / 2;
      this.plots.zoom(middle - half, middle + half);
    } else if (event.key === "0") this.plots.change({ x: "" });
    else return;
    event.preventDefault();
  }

  /** Tell the real point of each line that is nearest to a place. @param {number | null} at */
  point(at) {
    this.cursor = at;
    this.hair?.setAttribute("visibility", at === null ? "hidden" : "visible");
    const near = this.lines.map((line) => {
      const point = at === null ? null : nearest(line.pieces, at);
      return {
        line,
        point: point && point.at >= this.shown[0] && point.at <= this.shown[1] ? point : null,
      };
    });
    const met = near.flatMap((one) => (one.point ? [{ line: one.line, point: one.point }] : []));
    this.readout.replaceChildren(...near.map((one) => this.reading(one.line, one.point)));
    this.dots?.replaceChildren(
      ...met.map(({ line, point }) =>
        draw("path", {
          class: `dot at s${line.source.color}`,
          d: `M${this.x(point.at).toFixed(1)} ${this.y(point.mean).toFixed(1)}h0`,
        }),
      ),
    );
    if (at === null) return;
    const place = this.x(met.length === 1 ? met[0].point.at : at);
    fill(/** @type {Element} */ (this.hair), { x1: place, x2: place }, []);
  }

  /** An entry of the legend: the name if there are several, and the point at the cursor.
   * @param {Line} line
   * @param {Point | null} point
   */
  reading(line, point) {
    const many = this.plots.sources.length > 1;
    const name = make(
      "span",
      { class: many ? `of s${line.source.color}` : null },
      many ? make("bdi", { title: line.source.label }, cutName(line.source.label)) : "",
    );
    if (!point) return name;
    const [steps, lo, mean, hi] = readings(point);
    name.append(
      many ? ", " : "",
      `step ${steps}: `,
      make("b", {}, mean),
      lo ? ` (${lo} to ${hi} in ${counted(point.n, "step")})` : "",
    );
    return name;
  }

  toggleLog() {
    const keys = this.plots.all.filter((plot) => plot.log.checked).map((plot) => plot.key);
    this.plots.change({ log: keys.join(",") });
  }

  /** The values in the visible range, as in the data. */
  list() {
    const many = this.plots.sources.length > 1;
    const rows = this.lines.flatMap((line) =>
      line.pieces.flatMap((piece) =>
        within(piece, this.shown).map((point) => [line.source.label, ...readings(point), whole.format(point.n)]),
      ),
    );
    const heads = ["Run", "Steps", "Least", "Value or mean", "Greatest", "Steps logged"].slice(many ? 0 : 1);
    const body = rows
      .slice(0, LISTED_POINTS)
      .map((row) => make("tr", {}, ...row.slice(many ? 0 : 1).map((text) => make("td", {}, text))));
    const frame = make(
      "div",
      { class: "table-frame", tabindex: "0", role: "region", "aria-label": `Values of ${this.title}` },
      make(
        "table",
        {},
        make("thead", {}, make("tr", {}, ...heads.map((head) => make("th", { scope: "col" }, head)))),
        make("tbody", {}, ...(this.values.open ? body : [])),
      ),
    );
    const cut =
      rows.length > LISTED_POINTS
        ? [
            make(
              "p",
              { class: "muted" },
              `The first ${whole.format(LISTED_POINTS)} of ${whole.format(rows.length)}: zoom in for others.`,
            ),
          ]
        : [];
    this.values.replaceChildren(/** @type {Element} */ (this.values.firstElementChild), frame, ...cut);
  }
}

/** The points in a range, and none beyond. @param {Point[]} points @param {[number, number]} range */
function within(points, [low, high]) {
  return points.filter((point) => point.at >= low && point.at <= high);
}

/** @param {Point[][]} pieces @param {number} at @returns {Point | null} */
function nearest(pieces, at) {
  /** @type {Point | null} */
  let best = null;
  for (const piece of pieces) {
    for (const point of piece) if (!best || Math.abs(point.at - at) < Math.abs(best.at - at)) best = point;
  }
  return best;
}
