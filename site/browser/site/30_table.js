// @ts-check
/** Tables that sort, filter and choose columns; of long ones only the rows that are seen exist. */

const ROWS_BEYOND = 8; // drawn above and below what is seen
const PRINTED = 5000; // rows of a long table on paper
const TOOLS_FROM = 6; // rows; a shorter table has nothing to search

/** One table. Rows are either those of the page, hidden and moved, or made from data. */
class Grid {
  /** @param {HTMLTableElement} table @param {Rows} rows @param {boolean} made */
  constructor(table, rows, made) {
    this.table = table;
    this.rows = rows;
    this.made = made;
    this.body = table.tBodies[0];
    this.frame = /** @type {HTMLElement} */ (table.closest(".table-frame") || table.parentElement);
    this.lines = made ? [] : Array.from(this.body.rows);
    this.heads = new Map(
      Array.from(table.tHead?.rows[0]?.cells || [], (head, at) => [head.dataset.key || String(at), head]),
    );
    this.initial = rows.columns
      .map((column) => column.key)
      .filter((key) => {
        const head = this.heads.get(key);
        return head && !head.hidden;
      });
    /** @type {number[]} */
    this.order = [];
    /** @type {number[]} */
    this.shown = [];
    /** @type {Column[]} */
    this.columns = [];
    /** @type {Column[]} */
    this.alike = [];
    /** @type {Map<number, HTMLTableRowElement>} */
    this.drawn = new Map();
    this.sort = this.query = this.chosen = "";
    this.differ = false;
    this.height = 32;
    this.above = make("tr", { class: "space", "aria-hidden": "true" }, make("td"));
    this.below = make("tr", { class: "space", "aria-hidden": "true" }, make("td"));
    this.tools = new GridTools(this);
    if (made) this.roll();
    rows.columns.forEach((column) => this.sortable(column));
    onView(() => this.apply());
  }

  /** @param {string} part */
  name(part) {
    return `${this.table.id}.${part}`;
  }

  /** Take the view from the address, and columns from the last visit where it names none. */
  apply() {
    const remembered = remember("localStorage", `columns.${this.table.id}`);
    if (!view.get(this.name("cols")) && remembered) keep(this.name("cols"), remembered);
    this.chosen = view.get(this.name("cols")) || "";
    this.query = view.get(this.name("q")) || "";
    this.differ = view.get(this.name("differ")) === "1";
    this.sort = view.get(this.name("sort")) || "";
    this.order = orderOf(this.rows, this.sort);
    this.tools.show();
    this.update();
  }

  /** @param {string} part @param {string} value */
  change(part, value) {
    keep(this.name(part), value);
    if (part === "cols") remember("localStorage", `columns.${this.table.id}`, value);
    this.apply();
    say(this.tools.rowCount());
  }

  /** Filter, choose, draw. */
  update() {
    const test = filterOf(this.query, this.rows);
    this.shown = test ? this.order.filter(test) : this.order;
    const keys = new Set(this.chosen ? this.chosen.split(",") : this.initial);
    const differ = this.differ && this.shown.length > 1 ? differing(this.rows, this.shown) : null;
    const before = this.columns;
    // The first column names the row: it always stays.
    this.columns = this.rows.columns.filter(
      (column, at) => at === 0 || (keys.has(column.key) && (!differ || differ.has(column.key))),
    );
    this.alike = differ
      ? this.rows.columns.filter((one, at) => at && keys.has(one.key) && !differ.has(one.key))
      : [];
    this.tools.count();
    for (const [key, head] of this.heads) {
      const down = this.sort === `-${key}`;
      if (down || this.sort === key) head.setAttribute("aria-sort", down ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    }
    if (!this.made) return this.arrange();
    if (before.length !== this.columns.length || before.some((column, at) => column !== this.columns[at]))
      this.restart();
    this.frame.scrollTop = 0;
    this.drawSeen();
    // Rows of the page may break into lines, these do not: how high they are is known only now.
    const height = this.drawn.get(this.shown[0])?.getBoundingClientRect().height || this.height;
    if (Math.abs(height - this.height) < 0.5) return;
    this.height = height;
    this.drawSeen();
  }

  /** Rows of the page: moved into the order, hidden where they do not match. */
  arrange() {
    const keys = new Set(this.columns.map((column) => column.key));
    this.rows.columns.forEach((column, at) => {
      const head = this.heads.get(column.key);
      const hidden = !keys.has(column.key);
      if (!head || head.hidden === hidden) return;
      for (const line of [head, ...this.lines.map((one) => one.cells[at])]) if (line) line.hidden = hidden;
    });
    const shown = new Set(this.shown);
    this.lines.forEach((line, row) => (line.hidden = !shown.has(row)));
    this.body.append(...this.order.map((row) => this.lines[row]));
  }

  /** A heading that sorts; one is made for a column that the page did not show.
   * @param {Column} column
   */
  sortable(column) {
    let head = this.heads.get(column.key);
    if (!head) {
      head = make(
        "th",
        {
          scope: "col",
          "data-key": column.key,
          "data-kind": column.kind,
          class: column.kind === "number" ? "number" : null,
        },
        column.title,
      );
      if (column.unit) head.append(" ", make("span", { class: "unit" }, column.unit));
      this.heads.set(column.key, head);
    }
    const button = make("button", {
      type: "button",
      class: "sort",
      click: () => {
        const first = column.kind === "number" ? `-${column.key}` : column.key;
        const second = column.kind === "number" ? column.key : `-${column.key}`;
        this.change("sort", this.sort === first ? second : this.sort === second ? "" : first);
      },
    });
    button.append(...head.childNodes);
    head.append(button);
  }

  // --- rows made from data

  /** Make the frame scrollable, and columns wide enough for rows not drawn yet. */
  roll() {
    this.frame.classList.add("rolling");
    const more = this.frame.nextElementSibling; // "the first 200 of 1,000 rows": now all are there
    if (more instanceof HTMLElement && more.classList.contains("more")) more.hidden = true;
    this.height = this.body.rows[0]?.getBoundingClientRect().height || this.height;
    let due = false;
    this.frame.addEventListener(
      "scroll",
      () => {
        if (due) return;
        due = true;
        requestAnimationFrame(() => ((due = false), this.drawSeen()));
      },
      { passive: true },
    );
    addEventListener("resize", () => this.drawSeen());
    addEventListener("beforeprint", () => this.drawSeen(PRINTED));
    addEventListener("afterprint", () => this.drawSeen());
    this.table.setAttribute("aria-rowcount", String(this.rows.rows + 1));
  }

  /** The columns are others: nothing that is drawn can stay. */
  restart() {
    this.drawn.clear();
    this.body.replaceChildren(this.above, this.below);
    const most = innerWidth < 640 ? 13 : 26; // letters: on a phone the next column is seen too
    const heads = this.columns.map((column) => {
      const head = /** @type {HTMLElement} */ (this.heads.get(column.key));
      head.hidden = false;
      head.style.minWidth = `${Math.min(Math.max(longest(column, this.rows.rows), 3), most) + 3}ch`;
      return head;
    });
    this.table.tHead?.rows[0].replaceChildren(...heads);
    for (const space of [this.above, this.below]) space.cells[0].colSpan = heads.length;
  }

  /** Have the rows that are seen, and no others; those that stay are not touched.
   * @param {number} [count] the number of first rows, instead of the visible ones
   */
  drawSeen(count) {
    const first = count ? 0 : Math.max(0, Math.floor(this.frame.scrollTop / this.height) - ROWS_BEYOND);
    const fits = count || Math.ceil(innerHeight / this.height) + 2 * ROWS_BEYOND;
    const last = Math.min(this.shown.length, first + fits);
    const wanted = this.shown.slice(first, last);
    const stays = new Set(wanted);
    for (const [row, line] of this.drawn) {
      if (stays.has(row)) continue;
      line.remove();
      this.drawn.delete(row);
    }
    let before = this.above.nextSibling;
    wanted.forEach((row, at) => {
      const line = this.drawn.get(row) || this.line(row);
      line.setAttribute("aria-rowindex", String(first + at + 2));
      if (line === before) before = line.nextSibling;
      else this.body.insertBefore(line, before);
    });
    this.space(this.above, first);
    this.space(this.below, this.shown.length - last);
  }

  /** @param {HTMLTableRowElement} line @param {number} rows */
  space(line, rows) {
    line.hidden = rows === 0;
    line.cells[0].style.height = `${rows * this.height}px`;
  }

  /** @param {number} row */
  line(row) {
    const run = this.rows.runs?.[row];
    const line = make("tr", { "data-run": run || null, class: this.rows.looks?.[row] || null });
    for (const column of this.columns) {
      const text = textAt(column, row);
      const href = hrefAt(column, row) || (column.key === "run" && run ? `runs/${run}.html` : null);
      const look = [column.kind === "number" ? "number" : "", column.classes?.[row]].filter(Boolean).join(" ");
      const badge =
        column.kind === "status" && text
          ? make("span", { class: `badge ${text.replaceAll(" ", "_")}` }, text)
          : text;
      const named = ["run", "place"].includes(column.key) ? placeParts(text) : [text];
      line.append(
        make(
          "td",
          { class: look || null, title: text.length > 24 ? text : null },
          href ? make("a", { href: linked(href) }, ...named) : badge,
        ),
      );
    }
    tickable(line);
    this.drawn.set(row, line);
    return line;
  }
}

/** A table becomes a grid at once, or where its rows are data when it comes near the window.
 * @param {HTMLTableElement} table
 */
function startGrid(table) {
  const key = table.dataset.key;
  if (!key) {
    const rows = rowsOf(table);
    new Grid(table, rows, false);
    return;
  }
  let begun = false;
  const begin = () => {
    if (begun) return;
    begun = true;
    load(key).then(
      (/** @type {Rows} */ rows) => {
        for (const column of rows.columns) unpack(column, rows.rows);
        new Grid(table, rows, true);
      },
      (error) => complain(table, error),
    );
  };
  const near = new IntersectionObserver(
    (seen) => {
      if (seen.some((one) => one.isIntersecting)) begin();
    },
    { rootMargin: "600px" },
  );
  near.observe(table);
  onView(() => {
    if (Array.from(view.keys()).some((name) => name.startsWith(`${table.id}.`))) begin();
  });
}

/** Show an error on the page; the static content stays.
 * @param {Element} place
 * @param {Error} error
 */
function complain(place, error) {
  place.before(
    make(
      "p",
      { class: "failed", role: "alert" },
      `${error.message}: copy the whole folder of the site, with data/.`,
    ),
  );
}
