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
  state(news.state, { running: () => "running " + clock(status.time_ms), ended: () => "ended: " + news.text, silent: () => "no answer: " + news.text }[news.state]());
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
    const { pen, width, height } = sheet(canvas, 74), end = Math.max(...history.map(one => one.time)), span = Math.max(60000, end - history[0].time);
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

// ---- The field ----
const choice = { rule: null, path: "", variable: "", form: "map", range: "most", at: {}, axes: [] };
let file = null, field = null, coordinates = {}, held = null, asks = false, again = false, last = "";

// A list that a hand has opened stays as it is.
function options(select, list, value) {
  const key = JSON.stringify(list);
  if (select.dataset.key !== key && !(select.matches(":focus") && list.some(each => each[1] === select.value))) { select.replaceChildren(...list.map(([text, each]) => { const option = make("option", "", text); option.value = each; return option; })); select.dataset.key = key; }
  select.value = value;
}
const ofRule = () => (news && news.published || []).filter(each => String(each.rule) === choice.rule);

function chooseFiles() {
  const rules = [...new Set(news.published.map(each => String(each.rule)))].sort();
  if (!rules.length) return;
  if (!rules.includes(choice.rule) && choice.rule === null) choice.rule = rules[0];
  options(by("rule"), news.status.rules.map((rule, i) => [rule.pattern, String(i)]).filter(each => rules.includes(each[1]) || each[1] === choice.rule), choice.rule);
  const there = ofRule(), newest = there.find(each => each.state !== "gone");
  if (choice.path && !there.some(each => each.path === choice.path)) there.push({ name: short(choice.path) + " (gone)", path: choice.path });
  options(by("file"), [["the newest", ""], ...there.map(each => [short(each.name) + (/gone|changed/.test(each.state) ? " (" + stateOf(each) + ")" : ""), each.path])], choice.path);
  const shown = newest && (choice.path || newest.path + " " + newest.publication);
  if (shown && shown !== last) { last = shown; refresh(); }
}

async function get(what, query) {
  const response = await fetch(what + "?" + new URLSearchParams(query));
  if (!response.ok) throw new Error((await response.text()).trim());
  return response;
}

async function getField(source, variable, at) {
  const buffer = await (await get("field", { ...source, variable, at: at.join(",") })).arrayBuffer();
  const length = new DataView(buffer).getUint32(0, true), head = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
  const shown = head.dimensions.filter(each => each.is_shown);
  return { ...head, shown, values: shown.length === 2 ? new Float32Array(buffer, 4 + length) : new Float64Array(buffer, 4 + length) };
}

const variables = () => (file ? file.variables : []).filter(each => each.dimensions.length > 0);
const described = name => file && file.variables.find(each => each.name === name);
const isTime = variable => variable && / since /.test(variable.attributes.units || "");
const unitsOf = variable => { const units = variable && variable.attributes.units; return typeof units === "string" ? units.trim() : ""; };
// The variable with the same name as a dimension, if it has one value for each index.
const coordinateOf = name => { const found = described(name); return found && found.dimensions.length === 1 && found.dimensions[0] === name ? found : null; };

function chooseVariable() {
  const all = variables(), plain = all.filter(each => !coordinateOf(each.name) || each.dimensions.length > 1);
  const grid = plain.find(each => each.shape.filter(length => length > 1).length > 1);
  if (!all.some(each => each.name === choice.variable)) choice.variable = (grid || plain[0] || all[0] || { name: "" }).name;
  options(by("variable"), all.map(each => [each.name + (each.attributes.long_name ? " – " + String(each.attributes.long_name).slice(0, 40) : ""), each.name]), choice.variable);
  chooseAxes();
}

// A map shows the last two dimensions, a line the last one, unless others are chosen.
function chooseAxes() {
  const variable = described(choice.variable);
  if (!variable) return;
  const wanted = Math.min(choice.form === "line" ? 1 : 2, variable.dimensions.length), usual = variable.dimensions.filter((name, i) => variable.shape[i] > 1);
  const names = [...new Set([...choice.axes.filter(name => variable.dimensions.includes(name)), ...usual.reverse(), ...variable.dimensions.slice().reverse()])];
  choice.axes = names.slice(0, wanted);
}

// Of a dimension that may grow, the last index is the usual one.
const isGrowing = (variable, name) => variable.dimensions[0] === name && (variable.has_records || isTime(coordinateOf(name)) || /^(time|t|step|record)$/i.test(short(name)));
function where(variable) {
  return variable.dimensions.map((name, i) => choice.axes.includes(name) ? "*" : choice.at[name] ?? (isGrowing(variable, name) ? "last" : i < variable.dimensions.length - 2 ? 0 : Math.floor(variable.shape[i] / 2)));
}

// One question after the other; what was asked meanwhile is asked once more.
async function refresh() {
  if (asks) { again = true; return; }
  asks = true;
  do {
    again = false;
    try { await ask(); } catch (error) { by("caption").textContent = error.message; if (/has no variable|entry for each/.test(error.message)) file = null; }
  } while (again);
  asks = false;
}

async function ask() {
  const source = choice.path ? { path: choice.path } : { rule: choice.rule };
  if (!file || file.rule !== choice.rule) {
    file = await (await get("file", source)).json();
    file.rule = choice.rule; coordinates = {}; choice.axes = [];
  }
  chooseVariable();
  const variable = described(choice.variable);
  if (!variable) throw new Error(short(file.file) + " has no numeric variable with dimensions");
  const found = await getField(source, variable.name, where(variable)), same = { path: found.file }, texts = [];
  for (const dimension of found.dimensions) {
    const own = coordinateOf(dimension.name), key = dimension.name + " " + dimension.length;
    if (!own) continue;
    if (dimension.is_shown && (!coordinates[key] || own.has_records)) coordinates[key] = (await getField(same, own.name, ["*"])).values;
    if (!dimension.is_shown) texts.push([dimension.name, valueText(own, (await getField(same, own.name, [dimension.start])).values[0])]);
  }
  const time = described("time");
  if (time && !time.dimensions.length) texts.push(["time", valueText(time, (await getField(same, "time", [])).values[0])]);
  field = { ...found, variable, texts, source: short(found.file) };
  showSlices();
  drawField();
}

const sideOf = units => /^degrees?_?(east|E)$/i.test(units) ? "EW" : /^degrees?_?(north|N)$/i.test(units) ? "NS" : "";
function degrees(side, value) {
  const round = side === "EW" && value > 180 ? value - 360 : value;
  return number(Math.abs(round)) + "°" + (round === 0 || Math.abs(round) === 180 ? "" : side[round > 0 ? 0 : 1]);
}

function valueText(variable, value) {
  if (sideOf(unitsOf(variable))) return degrees(sideOf(unitsOf(variable)), value);
  const units = unitsOf(variable), parts = units.match(/^(\w+) since (\d{1,4})-(\d{1,2})-(\d{1,2})[T ]*(\d{1,2})?:?(\d{1,2})?:?([\d.]+)?/);
  const scale = parts && { s: 1e3, m: 6e4, h: 36e5, d: 864e5 }[parts[1] === "milliseconds" ? "" : parts[1][0].toLowerCase()];
  if (!scale || parts[1].startsWith("mon") || !/^(standard|gregorian|proleptic_gregorian|)$/.test(variable.attributes.calendar || "")) return number(value) + (units ? " " + units : "");
  const start = Date.UTC(+parts[2], parts[3] - 1, +parts[4], +(parts[5] || 0), +(parts[6] || 0), +(parts[7] || 0)), date = new Date(start + value * scale);
  return isNaN(date) ? number(value) + " " + units : date.toISOString().replace("T", " ").replace(/(:00)?\.\d+Z$/, " UTC");
}

// Sliders stay the same elements as long as they are for the same dimensions: a hand may be on one.
function showSlices() {
  const others = field.dimensions.filter(each => !each.is_shown && each.length > 1), key = JSON.stringify([field.variable.name, others.map(each => each.name)]);
  if (by("slices").dataset.key !== key) { by("slices").dataset.key = key; by("slices").replaceChildren(...others.map(makeSlice)); }
  others.forEach((each, i) => {
    const [slider, output] = by("slices").children[i].querySelectorAll("input, output"), text = field.texts.find(one => one[0] === each.name);
    slider.max = each.length - 1;
    if (!slider.matches(":active")) slider.value = each.start;
    output.textContent = each.start + 1 + " of " + each.length + (text ? ": " + text[1] : "");
  });
}

function makeSlice(each) {
  const slider = make("input"), along = make("button", "", "show along"), grows = isGrowing(field.variable, each.name);
  slider.type = "range"; slider.min = 0; slider.name = each.name;
  slider.addEventListener("input", () => { choice.at[each.name] = grows && slider.value === slider.max ? "last" : +slider.value; refresh(); });
  along.type = "button"; along.title = "use this dimension as an axis";
  along.addEventListener("click", () => { choice.axes.unshift(each.name); chooseAxes(); refresh(); });
  return make("label", "", make("span", "", each.name), slider, make("output"), along);
}

// ---- Drawing ----
const stops = { up: ["#440154", "#482878", "#3e4a89", "#31688e", "#26838f", "#1f9e89", "#35b779", "#6dce59", "#b5de2b", "#fde725"],
  both: ["#053061", "#2166ac", "#4393c3", "#92c5de", "#d1e5f0", "#f7f7f7", "#fddbc7", "#f4a582", "#d6604d", "#b2182b", "#67001f"] };
const tables = {};
function table(name) {
  if (tables[name]) return tables[name];
  const list = stops[name].map(text => [1, 3, 5].map(at => parseInt(text.slice(at, at + 2), 16))), result = [];
  for (let i = 0; i < 256; i++) { const place = i / 255 * (list.length - 1), low = Math.min(Math.floor(place), list.length - 2), part = place - low;
    result.push(list[low].map((value, channel) => Math.round(value + (list[low + 1][channel] - value) * part))); }
  return tables[name] = result;
}

function extent() {
  const values = field.values;
  let low = Infinity, high = -Infinity, valid = 0;
  for (const value of values) if (value === value) { valid++; if (value < low) low = value; if (value > high) high = value; }
  field.low = low; field.high = high; field.valid = valid;
  if (!valid) return [0, 1];
  if (choice.range === "held" && held && held.variable === field.variable.name) return held.range;
  if (choice.range === "most" && choice.form === "map") {
    const sample = [], stride = Math.max(1, Math.floor(values.length / 20000));
    for (let i = 0; i < values.length; i += stride) if (values[i] === values[i]) sample.push(values[i]);
    sample.sort((a, b) => a - b);
    const inner = [sample[Math.floor(sample.length * .01)], sample[Math.min(sample.length - 1, Math.floor(sample.length * .99))]];
    if (inner[1] > inner[0]) [low, high] = inner;
  }
  if (low < 0 && high > 0 && choice.form === "map") { const reach = Math.max(-low, high); low = -reach; high = reach; }
  if (low === high) { low -= Math.abs(low) / 2 || .5; high += Math.abs(high) / 2 || .5; }
  return [low, high];
}

function ticks(low, high, count, side) {
  const raw = Math.abs(high - low) / Math.max(count, 1) || 1, power = 10 ** Math.floor(Math.log10(raw)), list = [];
  const step = side && raw > 5 ? [10, 15, 30, 45, 60, 90].find(each => each >= raw * .7) || 90 : power * [1, 2, 5, 10].find(each => each * power >= raw * .999);
  for (let value = Math.ceil(Math.min(low, high) / step) * step; value <= Math.max(low, high) + step * 1e-6; value += step) list.push(Math.abs(value) < step * 1e-6 ? 0 : value);
  return list;
}

// Coordinates of a shown dimension, or its indices; with what is needed for labels.
function axis(dimension) {
  const own = coordinateOf(dimension.name), found = own && coordinates[dimension.name + " " + dimension.length];
  const values = found && found.length === dimension.count && found.every(value => value === value) ? found : Float64Array.from({ length: dimension.count }, (_, i) => i * dimension.stride);
  const units = values === found ? unitsOf(own) : "", side = sideOf(units);
  const first = values[0], end = values[values.length - 1], half = values.length > 1 ? (end - first) / (values.length - 1) / 2 : .5;
  const label = value => side ? degrees(side, value) : isTime(own) && values === found ? valueText(own, value) : number(value);
  return { name: dimension.name, values, units, side, label, low: first - half, high: end + half, down: own && own.attributes.positive === "down" };
}

function drawField() {
  if (!field) return;
  const range = extent();
  held = choice.range === "held" && held && held.variable === field.variable.name ? held : { variable: field.variable.name, range };
  const form = field.shown.length === 2 || choice.form === "histogram" ? choice.form : "line", name = field.variable.attributes.long_name || field.variable.attributes.standard_name || field.variable.name;
  const units = unitsOf(field.variable), texts = field.texts.map(([dimension, text]) => dimension + " " + text);
  by("caption").replaceChildren(String(name) + (units ? " [" + units + "]" : ""), make("span", "", " – " + [field.source, ...texts, field.valid ? number(field.low) + " to " + number(field.high) : "no values"].join(", ")));
  const canvas = by("canvas");
  form === "map" ? drawMap(canvas, range, units) : form === "line" ? drawLine(canvas) : drawHistogram(canvas, units);
  canvas.dataset.drawn = [field.source, field.variable.name, form, field.shown.map(each => each.count).join("x"), number(field.low), number(field.high)].join(" ");
}

function frame(pen, box, x, y) {
  pen.strokeStyle = pen.fillStyle = colour("--faint");
  pen.strokeRect(box.x - .5, box.y - .5, box.w + 1, box.h + 1);
  pen.textAlign = "center"; pen.textBaseline = "top";
  let free = -Infinity;
  for (const value of ticks(x.low, x.high, box.w / 90, x.side)) { const at = box.x + (value - x.low) / (x.high - x.low) * box.w, text = x.label(value), half = pen.measureText(text).width / 2;
    pen.fillRect(at, box.y + box.h, 1, 4); if (at - half > free && at + half < box.x + box.w + 14) { pen.fillText(text, at, box.y + box.h + 6); free = at + half + 8; } }
  pen.textAlign = "right"; pen.textBaseline = "middle";
  for (const value of ticks(y.low, y.high, box.h / 45, y.side)) { const at = box.y + box.h - (value - y.low) / (y.high - y.low) * box.h;
    pen.fillRect(box.x - 4, at, 4, 1); pen.fillText(y.label(value), box.x - 7, at); }
}

function drawMap(canvas, range, units) {
  const [ny, nx] = field.shown.map(each => each.count), y = axis(field.shown[0]), x = axis(field.shown[1]), narrow = canvas.clientWidth < 520;
  if (y.down ? y.low < y.high : y.low > y.high) y.flip = true;  // the larger coordinate is at the top, or the deeper one at the bottom
  const across = canvas.clientWidth - 52 - (narrow ? 12 : 84), round = x.side && y.side, ratio = round ? Math.abs((y.high - y.low) / (x.high - x.low)) * 1.1 : field.shown[0].length / field.shown[1].length;
  const box = { x: 52, y: 8, w: across, h: Math.max(120, Math.min(across * ratio, window.innerHeight * .72, 900)) };
  if (round || ratio < 4) box.w = Math.min(across, Math.max(120, box.h / ratio));
  const { pen } = sheet(canvas, box.h + (narrow ? 78 : 34)), image = new ImageData(Math.max(nx, 1), Math.max(ny, 1)), colours = table(range[0] < 0 && range[1] > 0 ? "both" : "up");
  const land = colour("--land").match(/\w\w/g).map(each => parseInt(each, 16)), scale = 255 / (range[1] - range[0]), pixels = image.data;
  for (let row = 0; row < ny; row++) for (let column = 0; column < nx; column++) {
    const value = field.values[row * nx + column], to = ((y.flip ? row : ny - 1 - row) * nx + column) * 4;
    const rgb = value === value ? colours[Math.max(0, Math.min(255, Math.round((value - range[0]) * scale)))] : land;
    pixels[to] = rgb[0]; pixels[to + 1] = rgb[1]; pixels[to + 2] = rgb[2]; pixels[to + 3] = 255;
  }
  const raw = document.createElement("canvas");
  raw.width = image.width; raw.height = image.height;
  raw.getContext("2d").putImageData(image, 0, 0);
  pen.imageSmoothingEnabled = nx > box.w;
  pen.drawImage(raw, box.x, box.y, box.w, box.h);
  if (y.flip) [y.low, y.high] = [y.high, y.low];
  frame(pen, box, x, y);
  const bar = narrow ? { x: box.x, y: box.y + box.h + 32, w: box.w, h: 12 } : { x: box.x + box.w + 16, y: box.y, w: 14, h: box.h };
  for (let i = 0; i < 256; i++) { pen.fillStyle = "rgb(" + colours[i] + ")";
    narrow ? pen.fillRect(bar.x + i / 256 * bar.w, bar.y, bar.w / 256 + 1, bar.h) : pen.fillRect(bar.x, bar.y + bar.h - (i + 1) / 256 * bar.h, bar.w, bar.h / 256 + 1); }
  pen.fillStyle = colour("--ink"); pen.textAlign = narrow ? "center" : "left"; pen.textBaseline = narrow ? "top" : "middle";
  for (const value of ticks(range[0], range[1], narrow ? 4 : 8)) { const part = (value - range[0]) / (range[1] - range[0]);
    narrow ? pen.fillText(number(value), bar.x + part * bar.w, bar.y + 15) : pen.fillText(number(value), bar.x + 19, bar.y + bar.h - part * bar.h); }
  canvas.place = (px, py) => {
    const column = Math.floor((px - box.x) / box.w * nx), line = Math.floor((py - box.y) / box.h * ny), row = y.flip ? line : ny - 1 - line;
    return column < 0 || row < 0 || column >= nx || row >= ny ? null : [row, column];
  };
  canvas.point = (px, py) => {
    const place = canvas.place(px, py);
    if (!place) return "";
    const value = field.values[place[0] * nx + place[1]], text = (each, index) => each.name + " " + each.label(each.values[index]) + (each.side || !each.units || / since /.test(each.units) ? "" : " " + each.units);
    return text(y, place[0]) + ", " + text(x, place[1]) + ": " + (value === value ? number(value) + (units ? " " + units : "") : "no value");
  };
}

function drawLine(canvas) {
  const x = axis(field.shown[0] || { name: "", count: 1, length: 1, stride: 1 }), [low, high] = extent(), values = field.values, pad = (high - low) * .05, y = { low: low - pad, high: high + pad, label: number };
  const { pen, width } = sheet(canvas, Math.max(220, Math.min(canvas.clientWidth * .5, window.innerHeight * .6))), box = { x: 62, y: 8, w: width - 76, h: canvas.clientHeight - 42 };
  const at = i => [box.x + (x.values[i] - x.low) / (x.high - x.low) * box.w, box.y + box.h - (values[i] - y.low) / (y.high - y.low) * box.h];
  frame(pen, box, x, y);
  pen.strokeStyle = colour("--put"); pen.lineWidth = 1.6; pen.lineJoin = "round"; pen.beginPath();
  for (let i = 0, on = false; i < values.length; i++) { if (values[i] !== values[i]) { on = false; continue; } const [px, py] = at(i); on ? pen.lineTo(px, py) : pen.moveTo(px, py); on = true; }
  pen.stroke();
  if (values.length < 80) { pen.fillStyle = colour("--put"); for (let i = 0; i < values.length; i++) if (values[i] === values[i]) { const [px, py] = at(i); pen.beginPath(); pen.arc(px, py, 2.5, 0, 7); pen.fill(); } }
  canvas.point = px => { const i = Math.round((px - box.x) / box.w * values.length - .5); return i < 0 || i >= values.length ? "" : x.name + " " + x.label(x.values[i]) + (x.side || / since /.test(x.units) ? "" : " " + x.units) + ": " + number(values[i]); };
}

function drawHistogram(canvas, units) {
  const [low, high] = field.low < field.high ? [field.low, field.high] : extent(), bins = 60, counts = new Array(bins).fill(0);
  for (const value of field.values) if (value === value) counts[Math.max(0, Math.min(bins - 1, Math.floor((value - low) / (high - low) * bins)))]++;
  const most = Math.max(...counts, 1), { pen, width } = sheet(canvas, Math.max(220, Math.min(canvas.clientWidth * .5, window.innerHeight * .6))), box = { x: 62, y: 8, w: width - 76, h: canvas.clientHeight - 42 };
  const folded = most > 20 * field.valid / bins, fold = count => folded ? Math.log10(count + 1) : count, top = fold(most) * 1.05;  // where one bin has nearly all
  pen.fillStyle = colour("--put");
  counts.forEach((count, i) => { const h = count ? Math.max(1, fold(count) / top * box.h) : 0; pen.fillRect(box.x + i / bins * box.w, box.y + box.h - h, box.w / bins - 1, h); });
  frame(pen, box, { low, high, label: number }, { low: 0, high: top, label: value => folded ? Number.isInteger(value) && value > 0 ? number(10 ** value) : "" : number(value) });
  canvas.point = px => { const i = Math.floor((px - box.x) / box.w * bins); return i < 0 || i >= bins ? "" : number(low + i / bins * (high - low)) + " to " + number(low + (i + 1) / bins * (high - low)) + (units ? " " + units : "") + ": " + counts[i] + " values"; };
}

// ---- Hands ----
by("canvas").addEventListener("pointermove", event => { by("reading").textContent = field && event.target.point && event.target.point(event.offsetX, event.offsetY) || "\u00a0"; });
// A line then goes through this point.
by("canvas").addEventListener("click", event => {
  const place = field && choice.form === "map" && event.target.place(event.offsetX, event.offsetY);
  if (place) { field.shown.forEach((each, i) => { choice.at[each.name] = place[i] * each.stride; }); set(by("form"), "line"); }
});
by("rule").addEventListener("change", event => { choice.rule = event.target.value; choice.path = choice.variable = last = ""; choice.at = {}; file = null; chooseFiles(); });
by("file").addEventListener("change", event => { event.target.blur(); choice.path = event.target.value; last = ""; chooseFiles(); });
by("variable").addEventListener("change", event => { choice.variable = event.target.value; choice.axes = []; refresh(); });
by("form").addEventListener("change", event => { choice.form = event.target.value; choice.axes = []; refresh(); });
by("range").addEventListener("change", event => { choice.range = event.target.value; drawField(); });
by("choice").addEventListener("submit", event => event.preventDefault());
window.addEventListener("resize", () => { drawField(); if (news && news.status) { drawHistory(); drawGraph(); } });
window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { drawField(); if (news) drawHistory(); });

function set(select, value) { select.value = value; select.dispatchEvent(new Event("change")); }
function turn(select, by_) { const count = select.options.length; if (count) set(select, select.options[(select.selectedIndex + by_ + count) % count].value); }
function stepFile(by_) {  // the list has the newest first
  const there = ofRule(), at = choice.path ? there.findIndex(each => each.path === choice.path) : 0, next = at - by_;
  if (there.length) set(by("file"), next < 0 ? "" : there[Math.min(next, there.length - 1)].path);
}
function stepSlice(by_) {
  const slider = by("slices").querySelector("input");
  if (slider) { slider.value = +slider.value + by_; slider.dispatchEvent(new Event("input")); }
}
const keys = { ArrowLeft: () => stepFile(-1), ArrowRight: () => stepFile(1), ArrowUp: () => stepSlice(1), ArrowDown: () => stepSlice(-1), f: () => set(by("file"), choice.path ? "" : (ofRule()[0] || { path: "" }).path),
  v: () => turn(by("variable"), 1), m: () => set(by("form"), "map"), l: () => set(by("form"), "line"), h: () => set(by("form"), "histogram"), r: () => turn(by("range"), 1) };
document.addEventListener("keydown", event => {
  if (event.ctrlKey || event.altKey || event.metaKey || /^(SELECT|INPUT)$/.test(event.target.tagName) || !keys[event.key]) return;
  event.preventDefault(); keys[event.key]();
});
connect();
})();
)page";
}

}  // namespace sluice::coordinator
