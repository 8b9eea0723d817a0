// @ts-check
/** The toolbar of a table: filter, columns, only differences, number of rows. */

const MANY = 20000; // rows; a filter of more waits for the next key

class GridTools {
  /** @param {Grid} grid */
  constructor(grid) {
    this.grid = grid;
    const id = `${grid.table.id}-filter`;
    let timer = 0;
    this.filter = make("input", {
      type: "search",
      id,
      autocomplete: "off",
      spellcheck: "false",
      placeholder: "words, nodes>=4, -failed",
      input: () => {
        const ask = () => grid.change("q", this.filter.value.trim());
        clearTimeout(timer);
        if (grid.rows.rows < MANY) ask();
        else timer = setTimeout(ask, 120);
      },
    });
    this.differ = make("input", {
      type: "checkbox",
      change: () => grid.change("differ", this.differ.checked ? "1" : ""),
    });
    this.boxes = grid.rows.columns
      .slice(1)
      .map((column) => make("input", { type: "checkbox", value: column.key, change: () => this.choose() }));
    this.number = make("span", { class: "count" });
    this.alike = make("p", { class: "alike" });
    if (!grid.made && grid.rows.rows < TOOLS_FROM) return;
    const bar = make(
      "div",
      { class: "grid-tools" },
      make("label", { for: id }, "Filter"),
      this.filter,
      this.chooser(),
      make("label", { class: "tick" }, this.differ, "Only what differs"),
      this.number,
    );
    grid.frame.before(bar, this.alike);
  }

  chooser() {
    const labels = this.boxes.map((box, at) => {
      const column = this.grid.rows.columns[at + 1];
      return make("label", { class: "tick" }, box, column.unit ? `${column.title}, ${column.unit}` : column.title);
    });
    const chooser = make(
      "details",
      {
        class: "chooser",
        keydown: (/** @type {KeyboardEvent} */ event) => {
          if (event.key !== "Escape") return;
          chooser.open = false;
          chooser.querySelector("summary")?.focus();
        },
      },
      make("summary", {}, "Columns"),
      make(
        "div",
        { class: "popover", role: "group", "aria-label": "Columns that are shown" },
        make(
          "p",
          {},
          make("button", { type: "button", click: () => this.all(true) }, "All"),
          make("button", { type: "button", click: () => this.grid.change("cols", "") }, "As at first"),
        ),
        ...labels,
      ),
    );
    document.addEventListener("click", (event) => {
      if (chooser.open && !chooser.contains(/** @type {Node} */ (event.target))) chooser.open = false;
    });
    return chooser;
  }

  /** @param {boolean} shown */
  all(shown) {
    for (const box of this.boxes) box.checked = shown;
    this.choose();
  }

  /** The boxes become the choice; the first column always belongs to it. */
  choose() {
    const { rows, initial } = this.grid;
    const keys = [rows.columns[0].key, ...this.boxes.filter((box) => box.checked).map((box) => box.value)];
    const same = keys.length === initial.length && keys.every((key) => initial.includes(key));
    this.grid.change("cols", same ? "" : keys.join(","));
  }

  /** Set the controls to the state in the address. */
  show() {
    const { grid } = this;
    const keys = new Set(grid.chosen ? grid.chosen.split(",") : grid.initial);
    if (document.activeElement !== this.filter || !this.filter.value.trim().startsWith(grid.query))
      this.filter.value = grid.query;
    this.differ.checked = grid.differ;
    for (const box of this.boxes) box.checked = keys.has(box.value);
  }

  rowCount() {
    const { shown, rows } = this.grid;
    return shown.length === rows.rows
      ? counted(rows.rows, "row")
      : `${whole.format(shown.length)} of ${counted(rows.rows, "row")}`;
  }

  count() {
    const { grid } = this;
    this.number.textContent = this.rowCount();
    const alike = grid.alike.map((column) => {
      const text = textAt(column, grid.shown[0]);
      return `${column.title} ${text || "not stated"}`;
    });
    this.alike.textContent = alike.length
      ? `The same in all ${counted(grid.shown.length, "row")}: ${alike.join(" · ")}`
      : "";
  }
}

/** FILE:LINE as parts: a long name may be cut or broken, the line that tells runs apart may not.
 * @param {string} text
 * @returns {(HTMLElement | string)[]}
 */
function placeParts(text) {
  const parts = text.match(/^(.*?)(:\d+(?: \+\d+)?)( \(.*)?$/);
  if (!parts) return [text];
  return [make("span", { class: "stem" }, parts[1]), make("span", {}, parts[2]), make("span", { class: "stem" }, parts[3] || "")];
}
