// @ts-check
/** The ticked runs of all pages, and the link to compare them. */

const BASKET_FITS = 8; // distinguishable curves

const basket = {
  /** @type {string[]} */
  ids: remember("sessionStorage", "basket")
    .split(",")
    .filter((id) => SAFE_ID.test(id)),
  away: remember("sessionStorage", "basket.away") === "1",

  /** @param {string[]} ids */
  set(ids) {
    this.ids = ids.filter((id, at) => SAFE_ID.test(id) && ids.indexOf(id) === at).slice(0, BASKET_FITS);
    remember("sessionStorage", "basket", this.ids.join(","));
    this.fold(false);
  },

  /** Put the bar away until a run is ticked, here and on other pages.
   * @param {boolean} away
   */
  fold(away) {
    this.away = away;
    remember("sessionStorage", "basket.away", away ? "1" : "");
    this.show();
  },

  /** @param {string} id @param {boolean} ticked */
  tick(id, ticked) {
    if (ticked && this.ids.length === BASKET_FITS) say(`${BASKET_FITS} runs are ticked: more curves cannot be distinguished`);
    this.set(ticked ? [...this.ids, id] : this.ids.filter((one) => one !== id));
  },

  /** What Compare shows: the runs of the address, else those ticked; none where it names the list. */
  asked() {
    return view.get("runs")?.split(",").filter(Boolean) ?? (location.hash === "#every-run" ? [] : this.ids);
  },

  get address() {
    return `${TOP}compare.html${this.ids.length ? `#runs=${this.ids.join(",")}` : ""}`;
  },

  /** Update the bar and every tick box. */
  show() {
    for (const box of document.querySelectorAll("input.pick")) {
      if (box instanceof HTMLInputElement) box.checked = this.ids.includes(box.value);
    }
    for (const link of every("a.to-compare")) link.setAttribute("href", this.address);
    // Only where runs can be ticked, and where Compare does not show them already.
    const serves = document.querySelector("input.pick, #compare") && view.get("runs") !== this.ids.join(",");
    basketBar.hidden = this.away || this.ids.length === 0 || !serves;
    document.documentElement.classList.toggle("with-basket", !basketBar.hidden);
    basketCount.textContent = `${counted(this.ids.length, "run")} ticked`;
  },
};

const basketCount = make("span", { class: "count", role: "status" });
const basketBar = make(
  "div",
  { class: "basket", role: "region", "aria-label": "Ticked runs", hidden: true },
  basketCount,
  make("a", { class: "to-compare primary", href: basket.address }, "Compare"),
  make("button", { type: "button", click: () => basket.set([]) }, "Clear"),
  make("button", { type: "button", class: "close", "aria-label": "Hide this bar", click: () => basket.fold(true) }, "×"),
);

/** Give the row of a run its tick box.
 * @param {HTMLTableRowElement} line
 */
function tickable(line) {
  const id = line.dataset.run;
  const cell = line.cells[0];
  if (!id || !cell || cell.querySelector(".pick")) return;
  cell.prepend(pick(id, cell.textContent?.trim() || id));
}

/** A tick box for a run.
 * @param {string} id
 * @param {string} title
 */
function pick(id, title) {
  const box = make("input", {
    type: "checkbox",
    class: "pick",
    value: id,
    "aria-label": `Compare ${title}`,
    autocomplete: "off",
    change: () => basket.tick(id, box.checked),
  });
  box.checked = basket.ids.includes(id);
  return box;
}

/** A text with a button that copies it; from a disk too.
 * @param {string} text
 */
function copyable(text) {
  const button = make(
    "button",
    {
      type: "button",
      class: "copy",
      click: () => {
        navigator.clipboard.writeText(text).then(
          () => report("Copied"),
          () => report("Not allowed here"),
        );
      },
    },
    "Copy",
  );
  /** @param {string} word */
  const report = (word) => {
    button.textContent = word;
    say(word);
    setTimeout(() => (button.textContent = "Copy"), 1500);
  };
  return make("span", { class: "command" }, make("code", {}, text), button);
}
