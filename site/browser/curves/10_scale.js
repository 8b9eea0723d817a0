// @ts-check
/** Scales of curves, and buckets gathered to the pixels of a plot. */

/** @typedef {{key: string, title: string, unit?: string, from: number, width: number, n: number[],
 *   lo: (number | null)[], hi: (number | null)[], mean: (number | null)[], breaks?: number[], at?: (number | null)[]}} Series */
/** @typedef {{x: string, series: Series[], events?: {x: number, text: string}[], tokens_per_step?: number | null}} Curves */
/** @typedef {(value: number) => number} Scale */
/** @typedef {{at: number, first: number, last: number, n: number, lo: number, hi: number, mean: number}} Point */

/** Convert steps to another axis; null if the run lacks the data for it.
 * @param {Curves} curves
 * @param {string} axis `step`, `tokens` or `time` (hours since the first step, summed from step times)
 * @returns {Scale | null}
 */
function axisOf(curves, axis) {
  if (axis === "step") return (step) => step;
  if (axis === "tokens") {
    const each = curves.tokens_per_step;
    return each ? (step) => step * each : null;
  }
  const times = curves.series.find((one) => one.key === "step_time_s");
  if (!times) return null;
  const elapsed = [0];
  let last = 0;
  times.mean.forEach((mean, at) => {
    last = mean ?? last; // a step that was not logged took as long as the one before
    elapsed.push(elapsed[at] + last * times.width);
  });
  return (step) => {
    const place = Math.max(0, (step - times.from + 1) / times.width);
    const whole = Math.min(times.mean.length, Math.floor(place));
    const next = elapsed[Math.min(times.mean.length, whole + 1)];
    return (elapsed[whole] + (place - whole) * (next - elapsed[whole])) / 3600;
  };
}

/** The buckets of a series as points on an axis, in pieces that no break divides.
 * @param {Series} series
 * @param {Scale} axis
 * @returns {Point[][]}
 */
function piecesOf(series, axis) {
  const breaks = new Set(series.breaks || []);
  /** @type {Point[][]} */
  const pieces = [[]];
  series.mean.forEach((mean, bucket) => {
    if (breaks.has(bucket) && pieces[pieces.length - 1].length) pieces.push([]);
    if (mean === null || !series.n[bucket]) return;
    const n = series.n[bucket];
    const begin = series.from + bucket * series.width;
    // One value is a real point, at its own step; several lie around the middle of their bucket.
    const first = n === 1 ? (series.at?.[bucket] ?? begin) : begin;
    const last = n === 1 ? first : begin + series.width - 1;
    pieces[pieces.length - 1].push({
      at: axis((first + last) / 2),
      first,
      last,
      n,
      lo: series.lo[bucket] ?? mean,
      hi: series.hi[bucket] ?? mean,
      mean,
    });
  });
  return pieces;
}

/** Points that fall on one pixel become one: the least, the greatest, the mean by weight. A spike
 * of one step stays.
 * @param {Point[]} points
 * @param {Scale} x
 * @returns {Point[]}
 */
function gathered(points, x) {
  /** @type {Point[]} */
  const kept = [];
  let column = NaN;
  for (const point of points) {
    const here = Math.round(x(point.at));
    const last = kept[kept.length - 1];
    if (here !== column) {
      kept.push({ ...point });
      column = here;
      continue;
    }
    last.mean = (last.mean * last.n + point.mean * point.n) / (last.n + point.n);
    last.n += point.n;
    last.last = point.last;
    last.lo = Math.min(last.lo, point.lo);
    last.hi = Math.max(last.hi, point.hi);
  }
  return kept;
}

/** The mean over so many points, by weight; near an end over as many as lie on both sides.
 * @param {Point[]} points
 * @param {number} over
 * @returns {Point[]}
 */
function smoothed(points, over) {
  const half = Math.floor(over / 2);
  const sums = [0];
  const counts = [0];
  points.forEach((point, at) => {
    sums.push(sums[at] + point.mean * point.n);
    counts.push(counts[at] + point.n);
  });
  return points.map((point, at) => {
    const near = Math.min(half, at, points.length - 1 - at);
    const [first, last] = [at - near, at + near + 1];
    return { ...point, mean: (sums[last] - sums[first]) / (counts[last] - counts[first]) };
  });
}

/** @param {number} low @param {number} high @param {number} from @param {number} to @param {boolean} [log] @returns {Scale} */
function scale(low, high, from, to, log = false) {
  /** @type {Scale} */
  const turned = log ? Math.log10 : (value) => value;
  const [a, b] = [turned(low), turned(high)];
  return (value) => (a === b ? (from + to) / 2 : from + ((turned(value) - a) / (b - a)) * (to - from));
}

/** Round values to label an axis with.
 * @param {number} low
 * @param {number} high
 * @param {number} about how many
 * @param {boolean} [log]
 * @returns {number[]}
 */
function ticks(low, high, about, log = false) {
  if (!(high > low)) return [low];
  /** @type {number[]} */
  const found = [];
  if (log && high / low >= 10) {
    const all = high / low < 100 ? [1, 2, 5] : [1];
    for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power += 1) {
      for (const digit of all)
        if (digit * 10 ** power >= low && digit * 10 ** power <= high) found.push(digit * 10 ** power);
    }
    return found.filter((_, at) => at % Math.ceil(found.length / about) === 0);
  }
  const rough = (high - low) / about;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * (rough / power > 5 ? 10 : rough / power > 2.2 ? 5 : rough / power > 1 ? 2 : 1);
  for (let at = Math.ceil(low / step); at * step <= high * (1 + 1e-9); at += 1) found.push(at * step + 0); // -0 becomes 0
  return found;
}

/** Labels of ticks, with the digits needed to distinguish them.
 * @param {number[]} values
 * @param {boolean} [log]
 * @returns {string[]}
 */
function labels(values, log = false) {
  if (log) return values.map(figures);
  const most = Math.max(...values.map(Math.abs));
  const apart = values.length > 1 ? Math.min(...values.slice(1).map((value, at) => value - values[at])) : most || 1;
  if (most >= 1e6 || (most > 0 && most < 1e-3)) {
    const units = /** @type {[number, string][]} */ ([
      [1e12, " T"],
      [1e9, " B"],
      [1e6, " M"],
    ]);
    const [by, name] = units.find(([size]) => most >= size) || [0, ""];
    if (by) return values.map((value) => (value ? `${figures(value / by)}${name}` : "0"));
    return values.map((value) =>
      value ? value.toExponential(Math.max(0, Math.floor(Math.log10(most)) - Math.floor(Math.log10(apart)))) : "0",
    );
  }
  const places = Math.max(0, -Math.floor(Math.log10(apart) + 1e-9));
  const format = new Intl.NumberFormat("en", {
    minimumFractionDigits: Math.min(places, 12),
    maximumFractionDigits: Math.min(places, 12),
  });
  return values.map((value) => format.format(value));
}
