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
  border-bottom: 1px solid var(--rule); } .number { text-align: right; font-variant-numeric: tabular-nums; }
.wide { overflow-x: auto; } .note { color: var(--faint); font-size: .9em; }
.warning, .advice { margin: .3em 0; } .warning::marker { color: var(--k2); }
canvas { width: 100%; display: block; touch-action: pan-y; } canvas:focus { outline: 2px solid var(--k0); }
.legend span { padding: 0 .5em 0 1.3em; position: relative; } .legend span::before { content: ""; position: absolute;
  left: 0; top: .2em; width: 1em; height: 1em; background: var(--c); }
.k0 { --c: var(--k0); } .k1 { --c: var(--k1); } .k2 { --c: var(--k2); } .k3 { --c: var(--k3); }
.k4 { --c: var(--k4); } .k5 { --c: var(--k5); } .k6 { --c: var(--k6); } .life { --c: var(--life); }
.graph svg { max-width: 100%; height: auto; }
svg.memory { width: 100%; border-bottom: 1px solid var(--rule); } .used, .spilled { fill: none; stroke: var(--k0);
  stroke-width: 1.5; vector-effect: non-scaling-stroke; } .spilled { stroke: var(--k4); }
.limit { stroke: var(--k2); stroke-dasharray: 6 4; vector-effect: non-scaling-stroke; }
)page";
}

const char* page_script() noexcept {
  return R"page((() => {
"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const canvas = document.getElementById("timeline"), detail = document.getElementById("detail");
const kinds = ["has open for writing", "has open for reading", "waits in open or create of", "waits for memory for", "writes to disk",
  "puts into", "gets from", "has opened by the C library"];
const rowHeight = 18, axis = 20, mostRows = 1500;
const rows = data.rows.slice(0, mostRows), byRow = rows.map(() => []);
for (const period of data.periods) if (period[0] < rows.length) byRow[period[0]].push(period);
for (const list of byRow) list.sort((a, b) => a[2] - b[2]);
let from = 0, to = Math.max(data.end, 1), label = 0, width = 0, waiting = false;

const x = time => label + (time - from) / (to - from) * (width - label);
const timeAt = pixel => from + (pixel - label) / (width - label) * (to - from);
const seconds = ms => (ms / 1000).toFixed(ms < 10000 ? 3 : 1) + " s";
const bytes = n => { let unit = 0; while (n >= 1024 && unit < 4) { n /= 1024; unit++; }
  return (unit ? n.toFixed(2) : n) + " " + ["B", "KiB", "MiB", "GiB", "TiB"][unit]; };

function draw() {
  waiting = false;
  const style = getComputedStyle(document.documentElement), colour = name => style.getPropertyValue(name).trim();
  const scale = window.devicePixelRatio || 1, height = rows.length * rowHeight + axis;
  width = canvas.clientWidth;
  canvas.style.height = height + "px";
  canvas.width = width * scale; canvas.height = height * scale;
  const pen = canvas.getContext("2d");
  pen.scale(scale, scale);
  pen.font = "12px system-ui, sans-serif";
  label = Math.min(width / 3, 12 + rows.reduce((most, row) => Math.max(most, pen.measureText(row).width), 0));
  const bar = (row, begin, end, name, inset) => {
    const left = Math.max(x(begin), label), right = Math.min(Math.max(x(end), x(begin) + 1), width);
    if (right <= label || left >= width) return;
    pen.fillStyle = colour(name);
    pen.fillRect(left, row * rowHeight + inset, right - left, rowHeight - 2 * inset);
  };
  for (const [row, begin, end] of data.lives) if (row < rows.length) bar(row, begin, end, "--life", 5);
  const colours = kinds.map((name, kind) => kind).map(kind => colour("--k" + kind));
  byRow.forEach((list, row) => {
    const last = kinds.map(() => -1);  // by kind: the pixel that is drawn already
    for (const [, kind, begin, end] of list) {
      if (begin > to) break;
      const left = Math.max(x(begin), label), right = Math.min(Math.max(x(end), x(begin) + 1), width);
      if (right <= label || right <= last[kind]) continue;
      last[kind] = Math.ceil(right);
      pen.fillStyle = colours[kind];
      const inset = kind === 5 || kind === 6 ? 5 : 2;  // calls lie within the time that the file is open
      pen.fillRect(left, row * rowHeight + inset, right - left, rowHeight - 2 * inset);
    }
  });
  pen.fillStyle = colour("--ink");
  rows.forEach((row, number) => pen.fillText(row, 2, number * rowHeight + 13, label - 6));
  const step = 10 ** Math.floor(Math.log10(to - from)) / (to - from < 3 * 10 ** Math.floor(Math.log10(to - from)) ? 5 : 1);
  pen.fillStyle = pen.strokeStyle = colour("--faint");
  for (let time = Math.ceil(from / step) * step; time <= to; time += step) {
    pen.fillRect(x(time), rows.length * rowHeight, 1, 4);
    pen.fillText(seconds(time), Math.min(x(time) + 3, width - 50), rows.length * rowHeight + 15);
  }
  canvas.dataset.drawn = from + " " + to;
}
function later() { if (!waiting) { waiting = true; requestAnimationFrame(draw); } }
function show(begin, end) {
  const span = Math.min(Math.max(end - begin, 1), Math.max(data.end, 1));
  from = Math.min(Math.max(begin, 0), Math.max(data.end, 1) - span); to = from + span; later();
}
function zoom(factor, centre) { show(centre - (centre - from) * factor, centre + (to - centre) * factor); }
function key(name) {
  const span = to - from, middle = (from + to) / 2;
  if (name === "+" || name === "=") zoom(0.5, middle);
  else if (name === "-") zoom(2, middle);
  else if (name === "ArrowLeft") show(from - span / 4, to - span / 4);
  else if (name === "ArrowRight") show(from + span / 4, to + span / 4);
  else if (name === "0") show(0, data.end);
  else return false;
  return true;
}
canvas.addEventListener("keydown", event => { if (key(event.key)) event.preventDefault(); });
document.getElementById("buttons").addEventListener("click", event => key(event.target.dataset.key));
canvas.addEventListener("wheel", event => {
  if (!event.ctrlKey) return;
  event.preventDefault(); zoom(event.deltaY > 0 ? 1.25 : 0.8, timeAt(event.offsetX));
}, { passive: false });
let held = null;
canvas.addEventListener("pointerdown", event => { held = event.offsetX; canvas.setPointerCapture(event.pointerId); });
canvas.addEventListener("pointerup", () => { held = null; });
canvas.addEventListener("pointermove", event => {
  if (held !== null) {
    const moved = timeAt(held) - timeAt(event.offsetX); held = event.offsetX; show(from + moved, to + moved); return;
  }
  const list = byRow[Math.floor(event.offsetY / rowHeight)] || [], time = timeAt(event.offsetX), reach = (to - from) / width;
  let best = null;
  for (const period of list) {
    if (period[2] > time + reach) break;
    if (period[3] >= time - reach && (!best || period[3] - period[2] <= best[3] - best[2])) best = period;
  }
  if (best) detail.textContent = rows[best[0]] + " " + kinds[best[1]] + " " + data.files[best[5]] + ": from " +
    seconds(best[2]) + ", " + seconds(best[3] - best[2]) + (best[4] ? ", " + bytes(best[4]) : "") +
    (best[6] ? ", " + seconds(best[6] / 1000) + " within calls" : "");
});
window.addEventListener("resize", later);
window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", later);
draw();
})();
)page";
}

}  // namespace sluice::coordinator
