// The script of the page of a run that goes on. It uses nothing from elsewhere.
#include "live_page.hpp"

namespace sluice::coordinator {

const char* live_script() noexcept {
  return R"page((() => {
"use strict";
const by = id => document.getElementById(id);
const make = (tag, name, ...content) => { const node = document.createElement(tag); if (name) node.className = name; node.append(...content); return node; };
const colour = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const bytes = n => { let unit = 0; while (n >= 1024 && unit < 5) { n /= 1024; unit++; }
  return (unit && n < 100 ? n.toPrecision(3) : Math.round(n)) + " " + ["B", "KiB", "MiB", "GiB", "TiB", "PiB"][unit]; };
const clock = ms => { const s = Math.floor(ms / 1000), two = n => String(n).padStart(2, "0");
  return (s >= 3600 ? Math.floor(s / 3600) + ":" : "") + two(Math.floor(s / 60) % 60) + ":" + two(s % 60); };
const short = path => path.slice(path.lastIndexOf("/") + 1);
const number = value => Number.isInteger(value) && Math.abs(value) < 1e7 ? String(value) : Math.abs(value) >= 1e5 || Math.abs(value) < 1e-3 ? value.toExponential(2) : String(+value.toPrecision(4));
// A canvas of the size that it has on the page, and its pen.
function sheet(canvas, height) {
  const scale = window.devicePixelRatio || 1, width = canvas.clientWidth;
  canvas.style.height = height + "px";
  canvas.width = width * scale; canvas.height = height * scale;
  const pen = canvas.getContext("2d");
  pen.scale(scale, scale);
  pen.font = "12px system-ui, sans-serif";
  return { pen, width, height };
}

// ---- The run ----
const most = 300, history = [];
let news = null, socket = null, heard = 0;
const recent = [];  // the status of the last seconds, for rates

function connect() {
  if (document.hidden || socket) return;
  socket = new WebSocket(location.href.replace(/^http/, "ws").replace(/[^/]*$/, "") + "live");
  socket.onmessage = event => { news = JSON.parse(event.data); heard = Date.now(); show(); };
  socket.onclose = () => { socket = null; if (!document.hidden) setTimeout(connect, 2000); if (!news || news.state !== "ended") state("silent", "sluice serve does not answer"); };
}
document.addEventListener("visibilitychange", () => { if (document.hidden && socket) socket.close(); else connect(); });

setInterval(() => { const silence = Math.round((Date.now() - heard) / 1000); if (socket && news && news.state === "running" && silence > 5) state("silent", "no news for " + silence + " s"); }, 1000);

function state(kind, text) {
  by("state").className = "pill " + kind;
  by("state").textContent = text;
}

function show() {
  const status = news.status;
  state(news.state === "ended" && news.text.startsWith("failed") ? "silent" : news.state, { running: () => "running " + clock(status.time_ms), ended: () => "ended: " + news.text, silent: () => "no answer: " + news.text }[news.state]());
  tellEvents();
  if (!status) return;
  document.title = status.run + " – Sluice";
  by("run").textContent = status.run;
  const sum = key => status.nodes.reduce((total, node) => total + node[key], 0);
  recent.push(status);
  if (recent.length > 6) recent.shift();
  const rate = total => rateSince(total(status), total(recent[0])), put = rate(each => each.put_bytes), got = rate(each => each.get_bytes + each.opened_bytes);
  if (news.history) history.splice(0, history.length, ...news.history);
  if (news.state === "running") history.push({ time: status.time_ms, used: sum("used_bytes"), limit: sum("limit_bytes"), spilled: sum("spilled_bytes"), put, got });
  if (history.length > most) history.shift();
  const figures = [["memory", bytes(sum("used_bytes")) + " of " + bytes(sum("limit_bytes"))], ["put", bytes(status.put_bytes)], ["got", bytes(status.get_bytes + status.opened_bytes)],
    ["files", String(status.rules.reduce((total, rule) => total + rule.files, 0))]];
  if (news.state === "ended" && news.began) figures.unshift(["began", new Date(news.began * 1000).toLocaleString()], ["took", clock(status.time_ms)]);
  by("figures").replaceChildren(...figures.map(([name, value]) => make("div", "", make("dt", "", name), make("dd", "", value))));
  const families = [...new Set(status.components.map(each => familyOf(each.name)))].map(family => status.components.filter(each => familyOf(each.name) === family));
  by("components").replaceChildren(...families.map(all => all.length > 1 ? crowd(all) : component(all[0])));
  by("memory-text").textContent = "at most " + bytes(sum("peak_bytes")) + (sum("spilled_bytes") ? ", " + bytes(sum("spilled_bytes")) + " on disk" : "");
  const seconds = status.time_ms / 1000 || 1, average = news.state === "ended";
  by("rates-text").textContent = "put " + bytes(average ? status.put_bytes / seconds : put) + "/s, got " + bytes(average ? (status.get_bytes + status.opened_bytes) / seconds : got) + "/s" + (average ? " on average" : "");
  drawHistory();
  drawGraph();
  listFiles(status);
  if (news.published) chooseFiles();
}

// Publications that were seen, and the end of the event log; the newest first.
const published = new Map(), seenLines = new Map();
function tellEvents() {
  const now = Date.now();
  for (const each of news.state === "running" && news.published || []) if (!published.has(each.publication)) published.set(each.publication, { time: now - each.age_ms, text: "published " + short(each.name) });
  for (const line of news.events || []) { const parts = line.match(/^(\S+Z) (.*)$/); if (parts) seenLines.set(line, { time: Date.parse(parts[1]), text: parts[2] }); }
  for (const map of [published, seenLines]) for (const key of map.keys()) { if (map.size <= 300) break; map.delete(key); }
  const lines = [...published.values(), ...seenLines.values()].sort((a, b) => b.time - a.time).slice(0, 60);
  by("events").replaceChildren(...lines.map(each => { const line = make("li", "", make("time", "", new Date(each.time).toTimeString().slice(0, 8)), each.text); line.title = each.text; return line; }));
}

// Members of an ensemble, "name.7", are shown as one where they are more than two.
function familyOf(name) {
  const base = name.replace(/\.\d+$/, "");
  return base !== name && news.status.components.filter(each => each.name.replace(/\.\d+$/, "") === base).length > 2 ? base : name;
}

function kindOf(name) {
  const each = news.status.components.find(one => one.name === name);
  if (!each || each.has_exited || news.state === "ended") return "ended";
  if (each.waiting) return "waits";
  return news.status.copies.some(copy => copy.component === name) ? "copies" : each.connected || news.status.rules.some(rule => rule.use.some(use => use.component === name)) ? "computes" : "starts";
}

const words = { ended: "ended", waits: "waits", copies: "copies", computes: "computes", starts: "uses no file yet" };
const plural = { ended: "ended", waits: "wait", copies: "copy", computes: "compute", starts: "use no file yet" };
// The kind of most interest that any of them has.
const kindOfAll = all => ["copies", "computes", "waits", "starts", "ended"].find(kind => all.some(each => kindOf(each.name) === kind));

function crowd(all) {
  const kinds = Object.keys(words).map(kind => [kind, all.filter(each => kindOf(each.name) === kind).length]).filter(each => each[1]);
  const waits = news.status.waits.filter(wait => all.some(each => each.name === wait.component)).slice(0, 3).map(wait => make("p", "", wait.text));
  return make("div", "component " + kindOfAll(all), make("b", "", familyOf(all[0].name) + " × " + all.length), make("span", "note", kinds.map(([kind, count]) => count + " " + plural[kind]).join(", ")), ...waits);
}

function component(each) {
  const kind = kindOf(each.name), status = news.status, without = text => text.slice(each.name.length + 1).replace(/^\(\d+ processes\) /, "");
  const texts = status.waits.filter(wait => wait.component === each.name).concat(status.copies.filter(copy => copy.component === each.name)).map(one => without(one.text));
  const states = [["ranks_in_mpi", "in MPI"], ["ranks_that_sleep", "asleep"], ["ranks_on_disk", "waiting for a disk"], ["ranks_stopped", "stopped"]];
  for (const [key, word] of states) if (each[key].length && kind !== "ended") texts.push((each.processes > 1 ? each[key].length + " of " + each.processes + " " : "") + word);
  const word = kind === "ended" && each.end || (kind === "waits" && each.processes > 1 ? each.waiting + " of " + each.processes + " wait" : words[kind]);
  return make("div", "component " + kind, make("b", "", each.name), make("span", "note", word), ...texts.map(text => make("p", "", text)));
}

function drawHistory() {
  const area = (canvas, curves, highest) => {
    const { pen, width, height } = sheet(canvas, 74), end = Math.max(...history.map(one => one.time)), span = Math.max(news.state === "ended" ? 1 : 60000, end - history[0].time);
    const x = time => width - (end - time) / span * width, y = value => height - 2 - value / Math.max(highest, 1) * (height - 16);
    for (const [key, name] of curves) {
      pen.beginPath();
      history.forEach((one, i) => i ? pen.lineTo(x(one.time), y(one[key])) : pen.moveTo(x(one.time), y(one[key])));
      pen.strokeStyle = colour(name); pen.lineWidth = 1.5; pen.stroke();
      pen.lineTo(x(end), height); pen.lineTo(x(history[0].time), height);
      pen.globalAlpha = .15; pen.fillStyle = colour(name); pen.fill(); pen.globalAlpha = 1;
    }
    pen.fillStyle = pen.strokeStyle = colour("--rule");
    pen.strokeRect(.5, .5, width - 1, height - 1);
    return { pen, y };
  };
  if (!history.length) return;
  const top = key => Math.max(...history.map(one => one[key]));
  const used = area(by("memory"), [["used", "--put"], ["spilled", "--spill"]], Math.min(top("limit"), 4 * Math.max(top("used"), top("spilled"), 1)));
  used.pen.fillStyle = colour("--faint");
  used.pen.fillText(bytes(history[history.length - 1].used), 6, 14);
  const rates = area(by("rates"), [["put", "--put"], ["got", "--get"]], Math.max(top("put"), top("got")));
  rates.pen.fillStyle = colour("--put"); rates.pen.fillText("put", 6, 14);
  rates.pen.fillStyle = colour("--get"); rates.pen.fillText("got", 34, 14);
}

// ---- The graph: components and files in layers; edges that lead back are drawn below ----
function graph() {
  const nodes = [], edges = [], status = news.status;
  const node = (key, fill) => { let at = nodes.findIndex(each => each.key === key); if (at < 0) at = nodes.push({ key, layer: 0, ...fill() }) - 1; return at; };
  const link = (from, to, kind, traffic) => { let edge = edges.find(each => each.from === from && each.to === to && each.kind === kind);
    if (!edge) edges.push(edge = { from, to, kind, rate: { total: 0, now: 0 } });
    edge.rate.total += traffic.total; edge.rate.now += traffic.now; };
  const place = name => node("component " + familyOf(name), () => { const all = status.components.filter(each => familyOf(each.name) === familyOf(name));
    return { title: familyOf(name) + (all.length > 1 ? " × " + all.length : ""), note: "", is: kindOfAll(all) || "ended" }; });
  status.components.forEach(each => place(each.name));
  status.rules.forEach((rule, number) => {
    const readers = [...new Set(rule.readers.map(familyOf))], own = familyOf(rule.writer) !== rule.writer || rule.readers.some(name => familyOf(name) !== name && !readers.includes(name));
    const pattern = own ? rule.pattern.replace(/\d+/g, "*") : rule.pattern, files = node("files " + [pattern, familyOf(rule.writer), readers], () => ({ title: pattern, files: 0, discarded: 0, is: "files" }));
    nodes[files].files += rule.files; nodes[files].discarded += rule.discarded;
    nodes[files].note = nodes[files].files + (nodes[files].files === 1 ? " file" : " files") + (nodes[files].discarded ? ", " + nodes[files].discarded + " discarded" : "");
    link(place(rule.writer), files, "put", trafficOf(number, rule.writer, "put"));
    for (const reader of rule.readers) link(files, place(reader), "get", trafficOf(number, reader, "get"));
  });
  const seen = nodes.map(() => 0);
  const visit = at => { if (seen[at]) return; seen[at] = 1;
    for (const edge of edges) if (edge.from === at) { if (seen[edge.to] === 1) edge.back = true; visit(edge.to); }
    seen[at] = 2; };
  nodes.forEach((each, at) => visit(at));
  nodes.forEach(() => edges.forEach(edge => { if (!edge.back) nodes[edge.to].layer = Math.max(nodes[edge.to].layer, nodes[edge.from].layer + 1); }));
  const rows = [];
  for (const each of nodes) each.row = rows[each.layer] = (rows[each.layer] ?? -1) + 1;
  return { nodes, edges, rows };
}

// What a component has put or got of the files of a rule, and how much of it a second.
function trafficOf(number, name, kind) {
  const of = status => { const use = status.rules[number].use.find(one => one.component === name);
    return !use ? 0 : kind === "put" ? use.put_bytes : use.get_bytes + use.opened_bytes; };
  return { total: of(news.status), now: rateSince(of(news.status), of(recent[0])) };
}
function rateSince(total, earlier) {
  const seconds = (news.status.time_ms - recent[0].time_ms) / 1000;
  return seconds > 0 && news.state === "running" ? (total - earlier) / seconds : 0;
}

function drawGraph() {
  const { nodes, edges, rows } = graph(), down = by("graph").clientWidth < 560, w = 156, h = 46, svg = "http://www.w3.org/2000/svg";
  const step = down ? [w + 14, 104] : [w + 116, 78], layers = rows.length, widest = Math.max(1, ...rows.map(last => last + 1));
  const at = node => { const shift = (widest - 1 - rows[node.layer]) / 2, across = (node.row + shift) * step[down ? 0 : 1] + 8, along = node.layer * step[down ? 1 : 0] + 8;
    return down ? [across, along] : [along, across]; };
  const size = down ? [widest * step[0] + 2, (layers - 1) * step[1] + h + 40] : [(layers - 1) * step[0] + w + 16, widest * step[1] + (edges.some(edge => edge.back) ? 46 : 0)];
  const scale = Math.max(.65, Math.min(1, (by("graph").clientWidth - 2) / size[0]));
  const element = (tag, attributes, text) => { const node = document.createElementNS(svg, tag); for (const key in attributes) node.setAttribute(key, attributes[key]); if (text) node.textContent = text; return node; };
  const root = element("svg", { width: size[0] * scale, height: size[1] * scale, viewBox: "0 0 " + size.join(" "), role: "img", "aria-label": "Components and files" });
  for (const edge of edges) {
    const [ax, ay] = at(nodes[edge.from]), [bx, by_] = at(nodes[edge.to]), far = edge.back || nodes[edge.to].layer > nodes[edge.from].layer + 1, sag = far ? 60 : 0;
    const a = down ? [ax + w / 2, ay + h] : [ax + w, ay + h / 2], b = down ? [bx + w / 2, by_] : [bx, by_ + h / 2];
    const pull = edge.back ? 90 : Math.max(24, Math.abs(down ? b[1] - a[1] : b[0] - a[0]) / 2);
    const beside = down ? 0 : 1, bent = point => edge.back ? size[beside] - 6 + (down ? 0 : 40) : point[beside] + sag;  // edges that lead back pass by all others
    const one = down ? [bent(a), a[1] + pull] : [a[0] + pull, bent(a)], two = down ? [bent(b), b[1] - pull] : [b[0] - pull, bent(b)];
    const middle = a.map((value, i) => (value + 3 * one[i] + 3 * two[i] + b[i]) / 8);
    root.append(element("path", { class: "edge " + edge.kind + (edge.rate.now > 0 ? " busy" : ""), d: "M" + a + " C" + one + " " + two + " " + b }));
    const text = edge.rate.now > 0 ? bytes(edge.rate.now) + "/s" : edge.rate.total ? bytes(edge.rate.total) : "";
    root.append(element("text", { class: "rate", x: middle[0], y: middle[1] + (down ? 4 : -6) }, text));
  }
  for (const node of nodes) {
    const [x, y] = at(node), group = element("g", {}), title = node.title.length > 20 ? node.title.slice(0, 19) + "…" : node.title;
    group.append(element("title", {}, node.title), element("rect", { class: node.is, x, y, width: w, height: h, rx: node.is === "files" ? 23 : 5 }),
      element("text", { class: "bold", x: x + w / 2, y: y + 20 }, title), element("text", { class: "small", x: x + w / 2, y: y + 36 }, node.note || node.is));
    root.append(group);
  }
  by("graph").replaceChildren(root);
}

function listFiles(status) {
  const users = file => file.users.map(user => user.component + (user.is_writing ? " writes" : " reads")).concat(file.unread_by.length ? ["unread by " + file.unread_by.join(", ")] : []).join("; ");
  const rows = status.files.map(file => [short(file.name), file.is_published ? "published" : "being written", bytes(file.bytes), users(file)]);
  const listed = new Set(status.files.filter(file => file.is_published).map(file => file.name));
  for (const file of (news.published || [])) if (!listed.has(file.name) && rows.length < 60) rows.push([short(file.name), news.state === "running" ? "published " + clock(file.age_ms) + " ago" : stateOf(file), "", ""]);
  by("rows").replaceChildren(...rows.map(row => make("tr", "", ...row.map((cell, i) => make("td", i === 2 ? "number" : "", cell)))));
  const lost = news.state === "ended" ? status.rules.reduce((total, rule) => total + rule.steps, 0) - news.kept : 0;
  by("more").textContent = lost > 0 ? lost + (lost === 1 ? " step was" : " steps were") + " in memory alone, which is gone; keep: true in a rule leaves files" : status.more_files ? "and " + status.more_files + " more" : rows.length ? "" : "no file is open, unread or there now";
  if (!field && news.state === "ended" && !news.kept) by("caption").textContent = "The run has left no file of a rule on disk.";
}
const stateOf = file => file.state === "changed" ? "changed since the run" : file.state;
)page";
}

}  // namespace sluice::coordinator
