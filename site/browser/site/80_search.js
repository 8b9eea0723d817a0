// @ts-check
/** Search over everything, opened by `/`; the theme; a live page. */

const FOUND = 40; // shown of a search

// What turns a name into a question.
const ASKING = /^(?:an?|and|are|can|did|do|does|for|help(?:s|ed)?|how|i|in|is|it|much|of|on|should|the|to|was|we|were|what|which|why|with|worth)$/;

/** @typedef {[string, string, string, string?]} Entry title, kind, href, the setting that it is */

class Search {
  constructor() {
    /** @type {{entries: Entry[], lower: string[]} | null} */
    this.all = null;
    this.chosen = 0;
    this.list = make("ul", { id: "found", role: "listbox", "aria-label": "Found" });
    this.input = make("input", {
      type: "search",
      autocomplete: "off",
      spellcheck: "false",
      role: "combobox",
      "aria-expanded": "true",
      "aria-controls": "found",
      "aria-autocomplete": "list",
      "aria-label": "Search runs, models, findings, sources",
      placeholder: "Search runs, models, findings, sources",
      input: () => this.find(),
      keydown: (/** @type {KeyboardEvent} */ event) => this.key(event),
    });
    this.status = make("p", { class: "muted", role: "status" });
    this.dialog = make(
      "dialog",
      {
        class: "search",
        "aria-label": "Search",
        click: (/** @type {Event} */ event) => {
          if (event.target === this.dialog) this.dialog.close();
        },
      },
      make("div", {}, this.input, this.status, this.list),
    );
    this.button = make(
      "button",
      { type: "button", class: "open-search", "aria-keyshortcuts": "/", click: () => this.open() },
      "Search ",
      make("kbd", {}, "/"),
    );
    document.addEventListener("keydown", (event) => {
      const at = /** @type {HTMLElement} */ (event.target);
      if (
        event.key !== "/" ||
        event.ctrlKey ||
        event.metaKey ||
        event.altKey ||
        at.closest("input, select, textarea, dialog")
      )
        return;
      event.preventDefault();
      this.open();
    });
  }

  open() {
    if (!this.dialog.open) this.dialog.showModal();
    this.input.select();
    load("search").then(
      ({ entries }) => {
        this.all ||= {
          entries,
          lower: entries.map((/** @type {Entry} */ [title, kind, , name]) => `${title} ${kind} ${name || ""}`.toLowerCase()),
        };
        this.find();
      },
      (error) => (this.status.textContent = error.message),
    );
  }

  /** Entries with all words that name something; those that begin with the first come first. */
  find() {
    if (!this.all) return;
    const { entries, lower } = this.all;
    const every = this.input.value.toLowerCase().split(/[\s?!]+/).filter(Boolean);
    const naming = every.filter((word) => !ASKING.test(word));
    const words = naming.length ? naming : every;
    const places = lower.flatMap((text, at) => (words.every((word) => text.includes(word)) ? [at] : []));
    if (words.length)
      places.sort((a, b) => Number(lower[b].startsWith(words[0])) - Number(lower[a].startsWith(words[0])) || a - b);
    this.list.replaceChildren(
      ...places.slice(0, FOUND).map((at, row) => make("li", { role: "option", id: `found-${row}`, class: entries[at][3] ? "untested" : null }, this.found(entries[at]))),
    );
    this.status.textContent =
      places.length > FOUND ? `${FOUND} of ${whole.format(places.length)}` : counted(places.length, "result");
    this.choose(0);
  }

  /** The link of an entry; for a setting with its measured effects, if any.
   * @param {Entry} entry
   */
  found([title, kind, href, setting]) {
    const link = make(
      "a",
      { href: linked(href), tabindex: "-1" },
      make("span", {}, title),
      " ",
      make("span", { class: "muted" }, kind),
    );
    if (setting)
      load(href.replace(/\.html.*$/, "/effects")).then(
        ({ pairs }) => {
          const tested = pairs.filter((/** @type {{setting: string}} */ pair) => pair.setting === setting);
          if (!tested.length) return;
          const { change } = tested[0];
          const same = tested.filter((/** @type {{change: string}} */ pair) => pair.change === change);
          const more = tested.length > same.length ? `; ${whole.format(tested.length - same.length)} of other values` : "";
          link.setAttribute("href", linked(href.replace(/#.*$/, "#effects")));
          link.append(make("span", { class: "effect" }, `${change}: ${effectOf(same)}${more}`));
          this.raise(link.parentElement);
        },
        (error) => (this.status.textContent = error.message),
      );
    return link;
  }

  /** What was tested comes before settings that only differ.
   * @param {HTMLElement | null} entry
   */
  raise(entry) {
    if (entry?.parentElement !== this.list) return; // of what was typed before
    entry.classList.remove("untested");
    const first = this.list.querySelector("li.untested");
    if (!first || !(first.compareDocumentPosition(entry) & Node.DOCUMENT_POSITION_FOLLOWING)) return;
    first.before(entry);
    this.choose(this.chosen);
  }

  /** @param {number} row */
  choose(row) {
    const rows = Array.from(this.list.children);
    this.chosen = Math.min(Math.max(row, 0), Math.max(rows.length - 1, 0));
    rows.forEach((one, at) => one.setAttribute("aria-selected", String(at === this.chosen)));
    if (rows.length) this.input.setAttribute("aria-activedescendant", rows[this.chosen].id);
    else this.input.removeAttribute("aria-activedescendant");
    rows[this.chosen]?.scrollIntoView({ block: "nearest" });
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10 }[event.key];
    if (event.key === "Enter") {
      this.dialog.close();
      this.list.children[this.chosen]?.querySelector("a")?.click();
    } else if (step) this.choose(this.chosen + step);
    else return;
    event.preventDefault();
  }
}

/** What pairs of one change show: all of them, since the largest alone would mislead.
 * @param {{of: string, text: string, range: string, verdict: string, sure: boolean}[]} pairs
 */
function effectOf(pairs) {
  const [{ of, text, range, verdict }] = pairs;
  if (pairs.length === 1) return `${text}${range.includes(" to ") ? ` (95%: ${range})` : ""}, ${verdict}; ${of}`;
  const sorted = [...pairs].sort((a, b) => parseFloat(a.text) - parseFloat(b.text));
  const faster = pairs.filter((pair) => parseFloat(pair.text) > 1).length;
  const sure = pairs.filter((pair) => pair.sure).length;
  const ends = Array.from(new Set([sorted[0].text, sorted[sorted.length - 1].text]));
  return `${ends.join(" to ")} the speed in ${pairs.length} pairs, faster in ${faster}; ${sure ? `${sure} sure` : "none is sure"}`;
}

/** A button between light and dark; the choice outlives the page. */
function themeButton() {
  const html = document.documentElement;
  const dark = () =>
    (html.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const kept = remember("localStorage", "theme");
  if (kept === "dark" || kept === "light") html.dataset.theme = kept;
  const named = () => button.setAttribute("aria-label", dark() ? "Light theme" : "Dark theme");
  const button = make(
    "button",
    {
      type: "button",
      class: "theme",
      click: () => {
        html.dataset.theme = dark() ? "light" : "dark";
        remember("localStorage", "theme", html.dataset.theme);
        named();
      },
    },
    "◐",
  );
  named();
  return button;
}

/** Look again and again whether the site was built anew; then read it.
 * @param {number} seconds
 */
function followBuilds(seconds) {
  let first = "";
  let requests = 0;
  setInterval(() => {
    if (document.hidden) return;
    requests += 1;
    load("live", `?${Date.now()}-${requests}`).then(
      (stamp) => {
        first ||= String(stamp);
        if (String(stamp) !== first) location.reload();
      },
      () => say("The site cannot be read at the moment"),
    );
  }, seconds * 1000);
}
