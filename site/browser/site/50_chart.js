// @ts-check
/** Charts of the page: which points are under the pointer, and a panel of those that were clicked. */

const NEAR = 9; // pixels
const LISTED = 12; // points in a tip
const PINNED = 8; // points in a panel

const tip = make("div", { class: "tip", role: "tooltip", id: "tip", hidden: true });

class Chart {
  /** @param {HTMLElement} figure */
  constructor(figure) {
    this.figure = figure;
    this.svg = /** @type {SVGSVGElement} */ (figure.querySelector(":scope > svg"));
    this.marks = /** @type {SVGAElement[]} */ (Array.from(this.svg.querySelectorAll("a.mark")));
    this.svg.setAttribute("role", "group"); // an image's links are hidden from readers
    for (const mark of this.marks) {
      const title = mark.querySelector("title"); // the browser's own label would cover ours
      mark.dataset.note = title?.textContent || "";
      title?.remove();
      if (!mark.hasAttribute("href")) mark.setAttribute("role", "img"); // of a page in one file
    }
    this.panel = make("section", {
      class: "pinned",
      "aria-label": "Points",
      tabindex: "-1",
      hidden: true,
    });
    this.svg.after(this.panel);
    this.pins = "";
    this.svg.addEventListener("pointermove", (event) => this.hover(event));
    this.svg.addEventListener("pointerleave", () => this.light([]));
    this.svg.addEventListener("click", (event) => this.click(event));
    this.svg.addEventListener("keydown", (event) => this.key(event));
    // One stop of Tab a chart: the arrows walk from point to point, by x.
    this.walk = this.marks
      .slice()
      .sort((a, b) => Number(a.dataset.x) - Number(b.dataset.x) || Number(a.dataset.y) - Number(b.dataset.y));
    this.walk.forEach((mark, at) => {
      mark.setAttribute("tabindex", at ? "-1" : "0");
      if (!mark.getAttribute("aria-label")) mark.setAttribute("aria-label", mark.dataset.note || "");
      mark.addEventListener("focus", () => this.light([mark]));
      mark.addEventListener("blur", () => this.light([]));
    });
    onView(() => this.apply());
  }

  /** Marks within reach of a place on the screen, the nearest first.
   * @param {number} x
   * @param {number} y
   */
  at(x, y) {
    const found = this.marks.map((mark) => {
      const box = (mark.lastElementChild || mark).getBoundingClientRect(); // without its interval
      return { mark, far: Math.hypot(box.x + box.width / 2 - x, box.y + box.height / 2 - y) };
    });
    return found
      .filter((one) => one.far <= NEAR)
      .sort((a, b) => a.far - b.far)
      .map((one) => one.mark);
  }

  /** @param {PointerEvent} event */
  hover(event) {
    this.light(this.at(event.clientX, event.clientY));
  }

  /** Show a label of these marks next to the first.
   * @param {SVGAElement[]} marks
   */
  light(marks) {
    for (const mark of this.marks) mark.classList.toggle("lit", marks.includes(mark));
    tip.hidden = marks.length === 0;
    this.svg.classList.toggle("pointing", marks.length > 0);
    if (!marks.length) return;
    tip.replaceChildren(...marks.slice(0, LISTED).map((mark) => make("div", {}, mark.dataset.note || "")));
    if (marks.length > LISTED)
      tip.append(make("div", { class: "muted" }, `and ${marks.length - LISTED} more; click lists them`));
    const box = marks[0].getBoundingClientRect();
    const left = Math.min(box.right + 10, innerWidth - tip.offsetWidth - 8);
    const under = box.bottom + 10;
    tip.style.left = `${Math.max(8, left)}px`;
    tip.style.top = `${under + tip.offsetHeight > innerHeight ? Math.max(8, box.top - tip.offsetHeight - 10) : under}px`;
  }

  /** A click pins; with a key that opens tabs it stays a link. @param {MouseEvent} event */
  click(event) {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
    const focused = /** @type {Element} */ (event.target).closest("a.mark");
    // Enter on a focused mark is a click without a place.
    const marks =
      event.detail === 0 && focused
        ? [/** @type {SVGAElement} */ (focused)]
        : this.at(event.clientX, event.clientY);
    if (!marks.length) return;
    event.preventDefault();
    this.pin(marks);
    this.panel.focus({ preventScroll: true });
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const step = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
    if (event.key === "Escape") this.pin([]);
    if (!step) return;
    event.preventDefault();
    const from = this.walk.indexOf(/** @type {SVGAElement} */ (document.activeElement));
    const next = this.walk[Math.min(this.walk.length - 1, Math.max(0, from + step))];
    for (const mark of this.walk) mark.setAttribute("tabindex", mark === next ? "0" : "-1");
    next.focus();
  }

  /** @param {SVGAElement[]} marks */
  pin(marks) {
    const names = marks.map((mark) => String(this.marks.indexOf(mark)));
    keep(`${this.figure.id}.pin`, names.join(","));
    this.apply();
  }

  /** Show the marks of the address in the panel, by index, since rows of a run have the same link. */
  apply() {
    const pins = view.get(`${this.figure.id}.pin`) || "";
    if (pins === this.pins) return;
    this.pins = pins;
    const marks = pins
      .split(",")
      .map((at) => this.marks[Number(at)])
      .filter((mark) => pins && mark);
    for (const mark of this.marks) mark.classList.toggle("held", marks.includes(mark));
    this.panel.hidden = marks.length === 0;
    const title = marks.length > 1 ? `${marks.length} points here` : "Point";
    this.panel.replaceChildren(
      make(
        "div",
        { class: "pinned-head" },
        make("strong", {}, title),
        make(
          "button",
          {
            type: "button",
            class: "close",
            "aria-label": "Close the panel",
            click: () => this.pin([]),
          },
          "×",
        ),
      ),
      ...marks.slice(0, PINNED).map((mark) => pinned(mark, this.figure.dataset.number || "", marks.length === 1)),
    );
    if (marks.length > PINNED)
      this.panel.append(make("p", { class: "muted" }, `and ${marks.length - PINNED} more at this place`));
    this.panel.onkeydown = (event) => {
      if (event.key === "Escape") this.pin([]);
    };
    if (document.readyState !== "complete" && marks.length) this.figure.scrollIntoView({ block: "center" });
  }
}

/** One point of the panel: its label, its line, how its number is made, and the facts of its run.
 * @param {SVGAElement} mark
 * @param {string} number
 * @param {boolean} open
 */
function pinned(mark, number, open) {
  const run = mark.dataset.run || "";
  const note = mark.dataset.note || "";
  const head = make("p", {}, make("a", { href: mark.getAttribute("href") || "#" }, note));
  const part = make("article", {}, head);
  if (!SAFE_ID.test(run)) return part;
  head.prepend(pick(run, note), " ");
  const more = make(
    "details",
    {
      toggle: () => {
        if (more.open && more.childElementCount === 1) {
          load(`runs/${run}`).then(
            (facts) => more.append(...derivationOf(facts, number), factList(facts)),
            (error) => more.append(make("p", { class: "failed" }, error.message)),
          );
        }
      },
    },
    make("summary", {}, "How it is made, and the facts of the run"),
  );
  more.open = open;
  part.append(more);
  return part;
}

/** @typedef {[string, string, string?, (number | string | null)?, string?, string?, string?]} Fact */
/** @typedef {[string, string, string, string, string, Step[]]} Step text, formula, place, href, raw, inputs */
/** @typedef {{id: string | number, title: string, href: string, facts: Fact[], derived?: Fact[],
 *   series?: boolean, effects?: string, line?: Step, steps?: Record<string, Step>}} Run */

/** The line of a run, and the derivation of one of its numbers.
 * @param {Run} run
 * @param {string} number
 */
function derivationOf(run, number) {
  const steps = [run.line, run.steps?.[number]].flatMap((step) => (step ? [branch(step)] : []));
  return steps.length ? [make("ul", { class: "tree" }, ...steps)] : [];
}

/** @param {Step} step @returns {HTMLElement} */
function branch([text, how, place, href, raw, inputs]) {
  return make(
    "li",
    {},
    text,
    place && " ",
    href ? make("a", { href: linked(href) }, place) : place,
    raw && " ",
    raw && make("code", {}, raw),
    how && make("div", { class: "how" }, how),
    inputs.length ? make("ul", {}, ...inputs.map(branch)) : "",
  );
}

/** Computed facts, then stated ones.
 * @param {Run} run
 */
function factsOf(run) {
  return [...(run.derived || []), ...run.facts].filter((fact) => fact.length > 2);
}

/** The text of a fact, in italics if it is computed: a formula, or its origin, says so.
 * @param {Fact | undefined} fact
 */
function factText(fact) {
  const text = fact?.[2] || "";
  return text && (fact?.[6] || fact?.[5]?.startsWith("computed:")) ? make("i", {}, text) : text;
}

/** Facts, each with the place that states it and its line.
 * @param {Run} run
 */
function factList(run) {
  const lines = factsOf(run).map((fact) => {
    const [, title, , , href, place, line] = fact;
    const source = make("td", {});
    if (place) source.append(href ? make("a", { href: linked(href) }, place) : place);
    if (line) source.append(" ", make("code", {}, line));
    return make("tr", {}, make("th", { scope: "row" }, title), make("td", {}, factText(fact)), source);
  });
  return make(
    "div",
    { class: "table-frame facts", tabindex: "0", role: "region", "aria-label": `Facts of ${run.title}` },
    make(
      "table",
      {},
      make(
        "thead",
        {},
        make("tr", {}, ...["Fact", "Value", "Stated in"].map((word) => make("th", { scope: "col" }, word))),
      ),
      make("tbody", {}, ...lines),
    ),
  );
}
