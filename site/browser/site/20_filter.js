// @ts-check
/** Rows as columns, and the filter and order of them. */

/** @typedef {{key: string, title: string, unit?: string, kind: string, dictionary?: any[] | null,
 *   values: any[], texts?: Texts, hrefs?: Texts, classes?: Texts,
 *   from?: number[] | null, stems?: string[], files?: string[], lines?: number[], lower?: string[], ranks?: Float64Array}} Column */
/** @typedef {(string | null)[] | Record<number, string> | null} Texts by row, of all or of those that have one */
/** @typedef {{columns: Column[], rows: number, looks?: Texts, runs?: (string | number | null)[] | null}} Rows */

/** Values that are written as the row of each change and the value from there on.
 * @param {Column} column
 * @param {number} rows
 */
function unpack(column, rows) {
  const { from, values } = column;
  if (!from) return;
  column.from = null;
  column.values = Array(rows);
  from.forEach((row, at) => column.values.fill(values[at], row, from[at + 1] ?? rows));
}

/** @param {Column} column @param {number} row */
function valueAt(column, row) {
  const value = column.values[row];
  if (value === null || value === undefined) return null;
  if (column.stems && column.lines) return `${column.stems[value]}:${column.lines[row]}`;
  return column.dictionary ? column.dictionary[value] : value;
}

/** As it is printed.
 * @param {Column} column
 * @param {number} row
 * @returns {string}
 */
function textAt(column, row) {
  const text = column.texts?.[row];
  if (text !== null && text !== undefined) return text;
  const value = valueAt(column, row);
  return value === null ? "" : String(value);
}

/** Of the row, or of the entry of the dictionary where there are fewer of these.
 * @param {Column} column
 * @param {number} row
 */
function hrefAt(column, row) {
  if (column.files && column.lines) {
    const file = column.files[column.values[row]];
    return file ? `${file}#L${column.lines[row]}` : null;
  }
  if (!column.hrefs) return null;
  const per_entry =
    column.dictionary &&
    Array.isArray(column.hrefs) &&
    column.hrefs.length === column.dictionary.length &&
    column.hrefs.length !== column.values.length;
  return column.hrefs[per_entry ? column.values[row] : row] || null;
}

/** @typedef {(row: number) => boolean} Test */

const FAILED = /^(?:oom|hang|nan|fail|timeout|cancelled)$/; // what the word `failed` finds

/** The test that a filter is: words that rows contain, `-word`, `nodes>=4`, `device="A100 80GB"`.
 * @param {string} text
 * @param {Rows} rows
 * @returns {Test | null} null where it asks nothing
 */
function filterOf(text, rows) {
  const tests = (text.match(/(?:[^\s"]|"[^"]*"?)+/g) || []).map((term) => {
    const not = term.length > 1 && term.startsWith("-") && !/^-[\d.]/.test(term);
    const test = termOf(not ? term.slice(1) : term, rows);
    /** @type {Test} */
    const inverse = (row) => !test(row);
    return not ? inverse : test;
  });
  return tests.length ? (row) => tests.every((test) => test(row)) : null;
}

/** @param {string} term @param {Rows} rows @returns {Test} */
function termOf(term, rows) {
  const parts = /^([^"<>=!:]+)(<=|>=|!=|=|<|>|:)(.*)$/.exec(term);
  const name = parts?.[1].toLowerCase();
  const column =
    name && rows.columns.find((one) => one.key.toLowerCase() === name || one.title.toLowerCase() === name);
  const bare = (parts && column ? parts[3] : term).replaceAll('"', "").toLowerCase();
  if (parts && column) return comparison(column, parts[2], bare);
  const tests = rows.columns
    .filter((one) => one.kind !== "number" || /^[-\d.,]+$/.test(bare))
    .map((one) => perEntry(one, (lower) => lower.includes(bare)));
  const status = rows.columns.find((one) => one.key === "status");
  if (bare === "failed" && status) tests.push(perEntry(status, (lower) => FAILED.test(lower)));
  return (row) => tests.some((test) => test(row));
}

/** @param {Column} column @param {string} operator @param {string} wanted @returns {Test} */
function comparison(column, operator, wanted) {
  const number = Number(wanted.replaceAll(",", ""));
  if (column.kind === "number" && wanted && operator !== ":" && !Number.isNaN(number)) {
    /** @type {Record<string, (value: number) => boolean>} */
    const kinds = {
      "=": (value) => value === number,
      "!=": (value) => value !== number,
      "<": (value) => value < number,
      "<=": (value) => value <= number,
      ">": (value) => value > number,
      ">=": (value) => value >= number,
    };
    const holds = kinds[operator];
    return (row) => {
      const value = valueAt(column, row);
      return typeof value === "number" && holds(value);
    };
  }
  /** @type {Record<string, (lower: string) => boolean>} */
  const kinds = {
    ":": (lower) => lower.includes(wanted),
    "=": (lower) => lower === wanted,
    "!=": (lower) => lower !== wanted,
    "<": (lower) => lower < wanted,
    "<=": (lower) => lower <= wanted,
    ">": (lower) => lower > wanted,
    ">=": (lower) => lower >= wanted,
  };
  return perEntry(column, kinds[operator]);
}

/** A test of a column's text; of a dictionary each entry is looked at once.
 * @param {Column} column
 * @param {(lower: string) => boolean} holds
 * @returns {Test}
 */
function perEntry(column, holds) {
  if (column.dictionary && !column.texts) {
    const flags = column.dictionary.map((entry) => holds(String(entry).toLowerCase()));
    const blank = holds("");
    return (row) => (column.values[row] === null ? blank : flags[column.values[row]]);
  }
  column.lower ||= Array.from(column.values, (_, row) => textAt(column, row).toLowerCase());
  const lower = column.lower;
  return (row) => holds(lower[row]);
}

/** What each row is sorted by, NaN where it is blank: numbers themselves, texts by their rank.
 * @param {Column} column
 * @returns {Float64Array}
 */
function ranksOf(column) {
  if (column.ranks) return column.ranks;
  const { values, dictionary } = column;
  /** @type {(entry: any) => boolean} */
  const blank = (entry) => entry === null || entry === undefined || entry === "";
  if (column.kind === "number") {
    column.ranks = Float64Array.from(values, (_, row) => {
      const value = valueAt(column, row);
      return blank(value) ? NaN : Number(value);
    });
    return column.ranks;
  }
  const entries = dictionary || column.stems || values;
  // "2 nodes" before "10 nodes": digits are padded, which is far quicker than a collator.
  const names = entries.map((entry) =>
    String(entry ?? "")
      .toLowerCase()
      .replace(/\d+/g, (run) => run.padStart(12, "0")),
  );
  const ranks = new Float64Array(entries.length);
  let rank = 0;
  const order = names.map((_, at) => at).sort((a, b) => (names[a] < names[b] ? -1 : names[a] > names[b] ? 1 : 0));
  order.forEach((at, place) => {
    if (place && names[at] !== names[order[place - 1]]) rank += 1;
    ranks[at] = blank(entries[at]) ? NaN : rank;
  });
  const { lines } = column;
  if (lines) column.ranks = Float64Array.from(values, (stem, row) => 1e9 * ranks[stem] + lines[row]);
  else column.ranks = dictionary ? Float64Array.from(values, (value) => (value === null ? NaN : ranks[value])) : ranks;
  return column.ranks;
}

/** All rows in the order of a column, blanks last, ties as they came.
 * @param {Rows} rows
 * @param {string} sort `key`, or `-key` for the greatest first
 * @returns {number[]}
 */
function orderOf(rows, sort) {
  const all = Array.from({ length: rows.rows }, (_, row) => row);
  const down = sort.startsWith("-");
  const column = rows.columns.find((one) => one.key === (down ? sort.slice(1) : sort));
  if (!column) return all;
  const ranks = ranksOf(column);
  const sign = down ? -1 : 1;
  const stated = all.filter((row) => !Number.isNaN(ranks[row]));
  stated.sort((a, b) => sign * (ranks[a] - ranks[b]) || a - b);
  return stated.concat(all.filter((row) => Number.isNaN(ranks[row])));
}

/** The columns in which rows differ, by key.
 * @param {Rows} rows
 * @param {number[]} shown
 * @returns {Set<string>}
 */
function differing(rows, shown) {
  const found = rows.columns.filter((column) => {
    const { values } = column;
    if (!column.texts && !column.lines) return shown.some((row) => values[row] !== values[shown[0]]);
    const first = textAt(column, shown[0]);
    return shown.some((row) => textAt(column, row) !== first);
  });
  return new Set(found.map((column) => column.key));
}

/** The characters of the longest text of a column, by up to 2,000 rows of it.
 * @param {Column} column
 * @param {number} rows
 */
function longest(column, rows) {
  let most = 0;
  if (column.dictionary && !column.texts)
    for (const entry of column.dictionary) most = Math.max(most, String(entry).length);
  else
    for (let row = 0; row < rows; row += Math.ceil(rows / 2000)) most = Math.max(most, textAt(column, row).length);
  return most;
}

/** An HTML table as columns; data-value has the number of a cell whose text is not one.
 * @param {HTMLTableElement} table
 * @returns {Rows}
 */
function rowsOf(table) {
  const heads = Array.from(table.tHead?.rows[0]?.cells || []);
  const lines = Array.from(table.tBodies[0]?.rows || []);
  const columns = heads.map((head, at) => {
    const kind = head.dataset.kind || "text";
    const texts = lines.map((line) => line.cells[at]?.textContent?.trim() || "");
    const values = lines.map((line, row) => {
      const value =
        line.cells[at]?.dataset.value ?? (kind === "number" ? texts[row].replaceAll(",", "") : texts[row]);
      if (kind !== "number" || value === "") return value || null;
      return Number.isNaN(Number(value)) ? null : Number(value);
    });
    return {
      key: head.dataset.key || String(at),
      title: head.textContent?.trim() || "",
      kind,
      values,
      texts,
    };
  });
  return { columns, rows: lines.length, runs: lines.map((line) => line.dataset.run || null) };
}
