// @ts-check
/** Shared helpers: elements, data files, the address, numbers. */

/** @typedef {Record<string, string | number | boolean | null | ((event: any) => void)>} Attributes */
/** @typedef {Node | string} Child */

const TOP = document.body.dataset.root || "";
const SAFE_ID = /^[\w-][\w.-]{0,80}$/; // of a run; it becomes part of a file name
const SVG = "http://www.w3.org/2000/svg";

/** An element; a function among the attributes listens, `true` is an empty attribute.
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {Attributes} [attributes]
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[K]}
 */
function make(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** An element of SVG.
 * @template {keyof SVGElementTagNameMap} K
 * @param {K} tag
 * @param {Attributes} [attributes]
 * @param {...Child} children
 * @returns {SVGElementTagNameMap[K]}
 */
function draw(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

/**
 * @template {Element} E
 * @param {E} node
 * @param {Attributes} attributes
 * @param {Child[]} children
 * @returns {E}
 */
function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") node.addEventListener(name, value);
    else if (value !== null && value !== false) node.setAttribute(name, value === true ? "" : String(value));
  }
  node.append(...children);
  return node;
}

/** All elements that match, typed.
 * @param {string} selector
 * @param {ParentNode} [within]
 * @returns {HTMLElement[]}
 */
function every(selector, within = document) {
  return Array.from(within.querySelectorAll(selector));
}

/** A link of the data is relative to the top of the site; a scheme or a way out is not followed.
 * @param {string} href
 */
function linked(href) {
  return /^(?:[a-z][a-z0-9+.-]*:|[/\\])/i.test(href) ? "#" : TOP + href;
}

// --- data files: a script tag each, since from a disk a browser lets nothing else read one

/** @type {Map<string, (value: any) => void>} */
const arrivals = new Map();
/** @type {Map<string, Promise<any>>} */
const loads = new Map();

/** What data files call. */
Object.assign(window, {
  /** @param {string} key @param {any} value */
  bench_data(key, value) {
    arrivals.get(key)?.(value);
  },
});

/** The value of data/KEY.js, loaded once; rejected where there is no such file.
 * @param {string} key
 * @param {string} [query] makes the browser read the file again
 * @returns {Promise<any>}
 */
function load(key, query = "") {
  const known = query ? undefined : loads.get(key);
  if (known) return known;
  /** @type {Promise<any>} */
  const promise = new Promise((resolve, reject) => {
    arrivals.set(key, resolve);
    const script = make("script", {
      src: `${TOP}data/${key.split("/").map(encodeURIComponent).join("/")}.js${query}`,
      load: () => script.remove(),
      error: () => reject(new Error(`data/${key}.js cannot be read`)),
    });
    document.head.append(script);
  });
  loads.set(key, promise);
  return promise;
}

// --- the address: `#runs.sort=-mfu&runs.q=nodes>%3D4` is the view; `#heading` stays what it was

/** @type {Map<string, string>} */
const view = new Map();
/** @type {(() => void)[]} */
const viewers = [];

function readAddress() {
  const text = location.hash.slice(1);
  if (text && !text.includes("=")) return;
  view.clear();
  for (const [name, value] of new URLSearchParams(text)) view.set(name, value);
}

/** Keep a part of the view in the address; an empty value leaves it.
 * @param {string} name
 * @param {string} value
 */
function keep(name, value) {
  if ((view.get(name) || "") === value) return;
  if (value) view.set(name, value);
  else view.delete(name);
  /** @param {string} text */
  const written = (text) => encodeURIComponent(text).replace(/%(?:2C|3A|2F|40)/g, decodeURIComponent);
  const hash = Array.from(view, ([key, text]) => `${written(key)}=${written(text)}`).join("&");
  history.replaceState(null, "", hash ? `#${hash}` : location.pathname.split("/").pop() + location.search);
}

/** Call now, and when somebody pastes another view into the address.
 * @param {() => void} apply
 */
function onView(apply) {
  viewers.push(apply);
  apply();
}

addEventListener("hashchange", () => {
  readAddress();
  for (const apply of viewers) apply();
});

/** What this browser remembers; some forbid it, and then nothing is remembered.
 * @param {"localStorage" | "sessionStorage"} where
 * @param {string} name
 * @param {string} [value] set, or removed where empty
 * @returns {string}
 */
function remember(where, name, value) {
  try {
    const store = window[where];
    if (value) store.setItem(`bench.${name}`, value);
    else if (value === "") store.removeItem(`bench.${name}`);
    return store.getItem(`bench.${name}`) || "";
  } catch {
    return value || "";
  }
}

// --- words and numbers

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const short = new Intl.NumberFormat("en", { maximumSignificantDigits: 5 });

/** A computed number with five digits.
 * @param {number} value
 */
function figures(value) {
  const size = Math.abs(value);
  if (size >= 1e15 || (size < 1e-4 && size > 0)) return value.toExponential(3);
  return size >= 1e4 ? whole.format(value) : short.format(value);
}

/** A number as in the data; integers with thousands separators.
 * @param {number} value
 */
function exact(value) {
  return Number.isInteger(value) && Math.abs(value) < 1e15 ? whole.format(value) : String(value);
}

/** @param {number} count @param {string} one @param {string} [many] */
function counted(count, one, many = `${one}s`) {
  return `${whole.format(count)} ${count === 1 ? one : many}`;
}

const speaker = make("div", { class: "unseen", role: "status", "aria-live": "polite" });

/** Tell a screen reader.
 * @param {string} text
 */
function say(text) {
  speaker.textContent = text;
}
