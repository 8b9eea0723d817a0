// @ts-check
/** What a plot is drawn of. */

/** The axes with their labels, and lines across.
 * @param {Plot} plot
 * @param {[number, number]} range of x
 * @param {[number, number]} heights
 */
function drawAxes(plot, range, [low, high]) {
  const log = plot.log.checked;
  const group = draw("g", { class: "axes" });
  const across = ticks(range[0], range[1], Math.max(2, Math.floor(plot.width / 110)));
  labels(across).forEach((label, at) =>
    group.append(draw("text", { x: plot.x(across[at]), y: HIGH - 6, "text-anchor": "middle" }, label)),
  );
  const up = ticks(low, high, 4, log);
  labels(up, log).forEach((label, at) => {
    const y = plot.y(up[at]);
    group.append(
      draw("line", { x1: LEFT, x2: plot.width - RIGHT, y1: y, y2: y }),
      draw("text", { x: LEFT - 6, y: y + 4, "text-anchor": "end" }, label),
    );
  });
  return group;
}

/** A line where something happened.
 * @param {Plot} plot
 * @param {[number, number]} range
 */
function drawEvents(plot, range) {
  const group = draw("g", { class: "events" });
  for (const source of new Set(plot.lines.map((line) => line.source))) {
    const over = axisOf(source.curves, plot.plots.axis);
    for (const event of (over && source.curves.events) || []) {
      const at = over ? over(event.x) : NaN;
      if (at >= range[0] && at <= range[1])
        group.append(
          draw(
            "path",
            {
              class: `s${source.color}`,
              d: `M${plot.x(at).toFixed(1)} ${UP}V${HIGH - DOWN}`,
            },
            draw("title", {}, event.text),
          ),
        );
    }
  }
  return group;
}

/** The mean as a line, least to greatest as a bar on each pixel, and dots where they are few.
 * @param {Plot} plot
 * @param {Line} line
 */
function drawCurve(plot, line) {
  const { x, y } = plot;
  const color = `s${line.source.color}`;
  const kept = line.pieces.map((piece) => gathered(piece, x));
  const few = kept.reduce((sum, piece) => sum + piece.length, 0) <= DOTS;
  /** @param {Point[]} piece */
  const path = (piece) =>
    piece.map((point, at) => `${at ? "L" : "M"}${x(point.at).toFixed(1)} ${y(point.mean).toFixed(1)}`).join("");
  const bars = kept
    .flat()
    .filter((point) => point.hi > point.lo)
    .map((point) => `M${x(point.at).toFixed(1)} ${y(point.hi).toFixed(1)}V${y(point.lo).toFixed(1)}`);
  const nodes = [
    draw("path", { class: `range ${color}`, d: bars.join("") }),
    draw("path", {
      class: `line ${color}${plot.plots.smooth ? " dim" : ""}`,
      d: kept.map(path).join(""),
    }),
  ];
  if (few)
    for (const point of kept.flat())
      nodes.push(
        draw("path", {
          class: `dot ${color}`,
          d: `M${x(point.at).toFixed(1)} ${y(point.mean).toFixed(1)}h0`,
        }),
      );
  if (plot.plots.smooth)
    nodes.push(
      draw("path", {
        class: `line ${color}`,
        d: line.pieces.map((piece) => path(gathered(smoothed(piece, plot.plots.smooth), x))).join(""),
      }),
    );
  return nodes;
}

/** A name for a legend, cut in its middle: long names mostly differ in their ends, such as lines.
 * @param {string} name
 */
function cutName(name) {
  return name.length > 30 ? `${name.slice(0, 9)}…${name.slice(-20)}` : name;
}
