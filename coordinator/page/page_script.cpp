// The script and the style of the report. They use nothing from elsewhere.
#include "report_page.hpp"

namespace sluice::coordinator {

const char* page_style() noexcept {
  return R"page(
:root { color-scheme: light dark; --ink: #15181e; --paper: #fdfdfb; --faint: #667; --rule: #d5d8de;
  --k0: #2f6db5; --k1: #2f8f5b; --k2: #c8532f; --k3: #9c3fa0; --k4: #8a7a3c; --k5: #123f73; --k6: #0f5231; --k7: #2f8f5b; --life: #d3d9e2; }
@media (prefers-color-scheme: dark) { :root { --ink: #e5e8ee; --paper: #15181e; --faint: #99a; --rule: #3a404c;
  --k0: #6aa5ea; --k1: #62c48c; --k2: #f0825c; --k3: #d385d6; --k4: #cbb866; --k5: #c7e0ff; --k6: #c9f2db; --k7: #62c48c; --life: #343b48; } }
body { font: 15px/1.45 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 1100px;
  margin: 2em auto; padding: 0 1em; }
h1 { font-size: 1.5em; } h2 { font-size: 1.15em; margin-top: 2em; border-bottom: 1px solid var(--rule); }
table { border-collapse: collapse; font-size: .92em; } th, td { padding: .2em .7em; text-align: left;
  border-bottom: 1px solid var(--rule); } .number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
.wide { overflow-x: auto; } .note { color: var(--faint); font-size: .9em; }
.warning, .advice { margin: .3em 0; } .warning::marker { color: var(--k2); }
canvas { width: 100%; display: block; touch-action: pan-y; } canvas:focus { outline: 2px solid var(--k0); }
.legend span { padding: 0 .5em 0 1.3em; position: relative; } .legend span::before { content: ""; position: absolute;
  left: 0; top: .2em; width: 1em; height: 1em; background: var(--c); }
.k0 { --c: var(--k0); } .k1 { --c: var(--k1); } .k2 { --c: var(--k2); } .k3 { --c: var(--k3); }
.k4 { --c: var(--k4); } .k5 { --c: var(--k5); } .k6 { --c: var(--k6); } .life { --c: var(--life); }
.graph svg { max-width: 100%; height: auto; }
th button { all: unset; cursor: pointer; font-weight: inherit; } th button:focus-visible { outline: 2px solid var(--k0); }
th[aria-sort=ascending] button::after { content: " ↑"; } th[aria-sort=descending] button::after { content: " ↓"; }
.tools { margin: .3em 0; font-size: .9em; }
)page";
}

const char* page_script() noexcept {
  return R"page((() => {
"use strict";
const mostFolded = 15;
// What a cell says, for sorting: numbers with their units, otherwise text.
const units = { B: 1, KiB: 1024, MiB: 1048576, GiB: 1073741824, TiB: 1099511627776, ms: 1, s: 1000, min: 60000, h: 3600000 };
function valueOf(text) {
  let sum = 0, found = false;
  for (const [, number, unit] of text.matchAll(/([\d.]+)(?: (B|KiB|MiB|GiB|TiB|ms|s|min|h)\b)?/g)) { sum += number * (units[unit] || 1); found = true; }
  return found ? sum : -1;
}
function sortBy(table, column, head) {
  const falls = head.getAttribute("aria-sort") === "descending" || (!head.hasAttribute("aria-sort") && !head.classList.contains("number"));
  for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", falls ? "ascending" : "descending");
  const text = row => row.cells[column].textContent;
  const order = head.classList.contains("number") ? (a, b) => valueOf(text(a)) - valueOf(text(b)) : (a, b) => text(a).localeCompare(text(b), undefined, { numeric: true });
  table.tBodies[0].append(...[...table.tBodies[0].rows].sort((a, b) => falls ? order(a, b) : order(b, a)));
}
function serve(table) {
  const rows = table.tBodies[0].rows;
  let show = () => {};
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    const button = document.createElement("button");
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => { sortBy(table, column, head); show(); });
  });
  if (rows.length <= mostFolded) return;
  const tools = document.createElement("p"), words = document.createElement("input"), more = document.createElement("button");
  tools.className = "tools"; words.type = "search"; words.placeholder = "rows with …"; words.setAttribute("aria-label", "Show rows with these words");
  let isFolded = true;
  show = () => {
    let shown = 0, fitting = 0;
    for (const row of rows) {
      const fits = row.textContent.toLowerCase().includes(words.value.toLowerCase());
      fitting += fits;
      row.hidden = !fits || (isFolded && shown >= mostFolded);
      shown += !row.hidden;
    }
    more.hidden = fitting <= mostFolded;
    more.textContent = isFolded ? `all ${fitting} rows` : "fewer rows";
  };
  words.addEventListener("input", show);
  more.addEventListener("click", () => { isFolded = !isFolded; show(); });
  tools.append(words, " ", more);
  table.parentElement.before(tools);
  show();
}
document.querySelectorAll("table").forEach(serve);
})();
(() => {
"use strict";
const text = document.getElementById("data");
if (!text) return;  // a comparison
const data = JSON.parse(text.textContent);
const canvas = document.getElementById("timeline"), lower = document.getElementById("charts"), detail = document.getElementById("detail");
const kinds = ["has open for writing", "has open for reading", "waits in open or create of", "waits for memory for", "writes to disk",
  "puts into", "gets from", "has opened by the C library"];
const rowHeight = 18, axis = 20, mostRows = 1500, chartHeight = 96, chartGap = 26;
const rows = data.rows.slice(0, mostRows), byRow = rows.map(() => []);
for (const period of data.periods) if (period[0] < rows.length) byRow[period[0]].push(period);
for (const list of byRow) list.sort((a, b) => a[2] - b[2]);
const whole = Math.max(data.end, 1);
let from = 0, to = whole, label = 0, width = 0, waiting = false;

const x = time => label + (time - from) / (to - from) * (width - label);
const timeAt = pixel => from + (pixel - label) / (width - label) * (to - from);
const figure = (n, digits) => String(Number(n.toPrecision(digits)));
const span = ms => ms < 1 ? Math.round(ms * 1000) + " µs" : ms < 1000 ? figure(ms, 3) + " ms" : ms < 60000 ? figure(ms / 1000, 4) + " s" :
  ms < 3600000 ? Math.floor(ms / 60000) + " min " + Math.round(ms % 60000 / 1000) + " s" : Math.floor(ms / 3600000) + " h " + Math.round(ms % 3600000 / 60000) + " min";
const bytes = n => { let unit = 0; while (n >= 1024 && unit < 4) { n /= 1024; unit++; } return figure(n, 3) + " " + ["B", "KiB", "MiB", "GiB", "TiB"][unit]; };
// A time on the axis, with as many digits as its neighbour at `step` ms needs.
function clock(ms, step) {
  if (step >= 60000) return Math.floor(ms / 3600000) + " h " + Math.round(ms % 3600000 / 60000) + " min";
  if (ms >= 60000 && step >= 1000) return Math.floor(ms / 60000) + ":" + String(Math.round(ms % 60000 / 1000)).padStart(2, "0");
  return (ms / 1000).toFixed(Math.max(0, Math.ceil(3 - Math.log10(step) - 1e-9))) + " s";
}
// Steps of 1, 2 or 5, and above a minute those of a clock.
function stepOf(least) {
  const large = [60000, 120000, 300000, 600000, 1800000, 3600000, 7200000, 21600000, 86400000].find(each => each >= least);
  if (least > 30000 && large) return large;
  const power = 10 ** Math.floor(Math.log10(least));
  return power * ([1, 2, 5].find(each => each * power >= least) || 10);
}

const style = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
function penOf(sheet, height) {
  const scale = window.devicePixelRatio || 1;
  sheet.style.height = height + "px";
  sheet.width = width * scale; sheet.height = height * scale;
  const pen = sheet.getContext("2d");
  pen.scale(scale, scale);
  pen.font = "12px system-ui, sans-serif";
  return pen;
}
function drawAxis(pen, top) {
  const step = stepOf((to - from) * 90 / Math.max(width - label, 1));
  pen.fillStyle = style("--faint");
  for (let number = Math.ceil(from / step); number * step <= to; number++) {
    const place = x(number * step);
    pen.fillRect(place, top, 1, 4);
    pen.fillText(clock(number * step, step), Math.min(place + 3, width - 60), top + 15);
  }
}
// The part of each pixel's time that periods of one kind take is the height of its bar, one pixel at least.
function drawRow(pen, list, row, colours) {
  const pixels = Math.ceil(width - label), parts = colours.map(() => null);
  for (const [, kind, begin, end] of list) {
    if (begin > to) break;
    if (end < from) continue;
    const left = Math.max(x(begin) - label, 0), right = Math.min(Math.max(x(end) - label, left + .01), pixels);
    const part = parts[kind] || (parts[kind] = new Float32Array(pixels + 1));
    for (let pixel = Math.floor(left); pixel < right; pixel++) part[pixel] += Math.min(right, pixel + 1) - Math.max(left, pixel);
  }
  parts.forEach((part, kind) => {
    if (!part) return;
    const most = kind === 5 || kind === 6 ? rowHeight - 10 : rowHeight - 4;  // calls lie within the time that the file is open
    pen.fillStyle = colours[kind];
    for (let pixel = 0; pixel <= pixels; pixel++) {
      if (part[pixel] <= 0) continue;
      const height = Math.max(1, Math.min(1, part[pixel]) * most);
      pen.fillRect(label + pixel, row * rowHeight + (rowHeight - height) / 2, 1, height);
    }
  });
}
function drawRows() {
  const pen = penOf(canvas, rows.length * rowHeight + axis);
  label = Math.min(width / 3, Math.max(76, 12 + rows.reduce((most, row) => Math.max(most, pen.measureText(row).width), 0)));
  pen.fillStyle = style("--life");
  for (const [row, begin, end] of data.lives)
    if (row < rows.length && end > from && begin < to) pen.fillRect(Math.max(x(begin), label), row * rowHeight + rowHeight / 2 - 1, Math.min(x(end), width) - Math.max(x(begin), label), 2);
  const colours = kinds.map((name, kind) => style("--k" + kind));
  byRow.forEach((list, row) => drawRow(pen, list, row, colours));
  pen.fillStyle = style("--ink");
  rows.forEach((row, number) => pen.fillText(row, 2, number * rowHeight + 13, label - 6));
  drawAxis(pen, rows.length * rowHeight);
}

// Charts of the same time: a title, how to write a value, and curves of points [time, value]. A curve keeps its value until the next point.
function rateOf(column) {
  return data.traffic.slice(1).map((now, i) => [data.traffic[i][0], Math.max(0, now[column] - data.traffic[i][column]) / Math.max(now[0] - data.traffic[i][0], 1) * 1000])
    .concat(data.traffic.length ? [[data.traffic.at(-1)[0], 0]] : []);
}
const charts = [{ title: "memory in use", value: bytes, base: 1024, limit: data.limit, curves: data.memory.map((node, i) => ({ name: data.memory.length > 1 ? "node " + i : "in use", points: node, colour: "--k0" })) }];
if (data.memory.some(node => node.some(point => point[2] > 0)))
  charts[0].curves.push(...data.memory.map((node, i) => ({ name: "on disk", points: node.map(point => [point[0], point[2]]), colour: "--k4" })));
charts.push({ title: "put and got in a second", value: n => bytes(n) + "/s", base: 1024, curves: [{ name: "put", points: rateOf(1), colour: "--k0" }, { name: "got", points: rateOf(2), colour: "--k1" }] });
if (data.unread.length)
  charts.push({ title: "unread steps", value: n => figure(n, 4), base: 10, curves: data.unread.slice(0, 8).map((each, i) => ({ name: each.name, points: each.points, colour: "--k" + [0, 1, 2, 3, 4][i % 5] })) });
// The index of the last point that is not after the time; -1: none.
function pointAt(points, time) {
  let low = 0, high = points.length;
  while (low < high) { const middle = (low + high) >> 1; if (points[middle][0] <= time) low = middle + 1; else high = middle; }
  return low - 1;
}
function topOf(chart) {
  let most = 0;
  for (const curve of chart.curves) {
    for (let i = Math.max(0, pointAt(curve.points, from)); i < curve.points.length && curve.points[i][0] <= to; i++) most = Math.max(most, curve.points[i][1]);
  }
  if (chart.limit && most > chart.limit / 2) most = Math.max(most, chart.limit);
  if (most <= 0) return 1;
  let power = 1;
  while (power * chart.base <= most) power *= chart.base;
  return power * (chart.base === 10 ? [1, 2, 5, 10] : [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]).find(each => each * power >= most);
}
function drawChart(pen, chart, top) {
  const most = topOf(chart), y = value => top + chartHeight - value / most * chartHeight;
  pen.fillStyle = style("--faint");
  pen.fillText(chart.title + (chart.curves.length > 1 ? ": " : ""), label + 4, top - 6);
  let place = label + 10 + pen.measureText(chart.title + ": ").width;
  if (chart.curves.length > 1) for (const curve of chart.curves) {
    pen.fillStyle = style(curve.colour); pen.fillText(curve.name, place, top - 6); place += 14 + pen.measureText(curve.name).width;
  }
  pen.textAlign = "right";
  for (const part of [0, .5, 1]) {
    pen.fillStyle = style("--rule"); pen.fillRect(label, Math.round(y(part * most)), width - label, 1);
    pen.fillStyle = style("--faint"); pen.fillText(chart.value(part * most), label - 6, y(part * most) + 4);
  }
  pen.textAlign = "left";
  if (chart.limit && chart.limit <= most) { pen.setLineDash([6, 4]); pen.strokeStyle = style("--k2"); pen.strokeRect(label, y(chart.limit), width - label, 0); pen.setLineDash([]); }
  for (const curve of chart.curves) {
    pen.strokeStyle = style(curve.colour); pen.lineWidth = 1.5; pen.beginPath();
    let i = pointAt(curve.points, from), value = i >= 0 ? curve.points[i][1] : 0, last = label;
    pen.moveTo(label, y(value));
    // Of several points in one pixel the highest and the last are drawn.
    for (i++; i < curve.points.length && curve.points[i][0] <= to; i++) {
      const right = x(curve.points[i][0]);
      if (right > last) { pen.lineTo(right, y(value)); last = right; }
      value = curve.points[i][1];
      pen.lineTo(right, y(value));
    }
    pen.lineTo(Math.min(x(whole), width), y(value));
    pen.stroke();
  }
}
function drawCharts() {
  const pen = penOf(lower, charts.length * (chartHeight + chartGap) + axis);
  charts.forEach((chart, number) => drawChart(pen, chart, number * (chartHeight + chartGap) + chartGap - 4));
  drawAxis(pen, charts.length * (chartHeight + chartGap));
}
function draw() {
  waiting = false;
  width = canvas.clientWidth;
  drawRows();
  drawCharts();
  canvas.dataset.drawn = from + " " + to;
}
function later() { if (!waiting) { waiting = true; requestAnimationFrame(draw); } }
function show(begin, end) {
  const length = Math.min(Math.max(end - begin, 1), whole);
  from = Math.min(Math.max(begin, 0), whole - length); to = from + length; later();
}
function zoom(factor, centre) { show(centre - (centre - from) * factor, centre + (to - centre) * factor); }
function key(name) {
  const length = to - from, middle = (from + to) / 2;
  if (name === "+" || name === "=") zoom(0.5, middle);
  else if (name === "-") zoom(2, middle);
  else if (name === "ArrowLeft") show(from - length / 4, to - length / 4);
  else if (name === "ArrowRight") show(from + length / 4, to + length / 4);
  else if (name === "0") show(0, whole);
  else return false;
  return true;
}
canvas.addEventListener("keydown", event => { if (key(event.key)) event.preventDefault(); });
document.getElementById("buttons").addEventListener("click", event => key(event.target.dataset.key));
// What the pointer is at: a period, or the values of the charts.
function periodAt(event) {
  const list = byRow[Math.floor(event.offsetY / rowHeight)] || [], time = timeAt(event.offsetX), reach = (to - from) / width;
  let best = null;
  for (const period of list) {
    if (period[2] > time + reach) break;
    if (period[3] >= time - reach && (!best || period[3] - period[2] <= best[3] - best[2])) best = period;
  }
  return best && rows[best[0]] + " " + kinds[best[1]] + " " + data.files[best[5]] + ": from " + clock(best[2], 1) + ", " + span(best[3] - best[2]) +
    (best[4] ? ", " + bytes(best[4]) : "") + (best[6] ? ", " + span(best[6] / 1000) + " within calls" : "");
}
function valuesAt(event) {
  const time = timeAt(event.offsetX), chart = charts[Math.floor(event.offsetY / (chartHeight + chartGap))];
  if (!chart || event.offsetX < label) return null;
  return clock(time, (to - from) / 1000) + ", " + chart.title + ": " + chart.curves.map(curve => {
    const i = pointAt(curve.points, time);
    return (chart.curves.length > 1 ? curve.name + " " : "") + chart.value(i < 0 ? 0 : curve.points[i][1]);
  }).join(", ") + (chart.limit ? " of " + chart.value(chart.limit) : "");
}
function listen(sheet, tell) {
  let held = null;
  sheet.addEventListener("wheel", event => {
    if (!event.ctrlKey) return;
    event.preventDefault(); zoom(event.deltaY > 0 ? 1.25 : 0.8, timeAt(event.offsetX));
  }, { passive: false });
  sheet.addEventListener("pointerdown", event => { held = event.offsetX; sheet.setPointerCapture(event.pointerId); });
  sheet.addEventListener("pointerup", () => { held = null; });
  sheet.addEventListener("pointermove", event => {
    if (held !== null) { const moved = timeAt(held) - timeAt(event.offsetX); held = event.offsetX; return show(from + moved, to + moved); }
    const words = tell(event);
    if (words) detail.textContent = words;
  });
}
listen(canvas, periodAt);
listen(lower, valuesAt);
window.addEventListener("resize", later);
window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", later);
draw();
})();
)page";
}

}  // namespace sluice::coordinator
