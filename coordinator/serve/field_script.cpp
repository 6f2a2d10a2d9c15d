// The part of the page's script that shows fields; live_script() is before it.
#include "live_page.hpp"

namespace sluice::coordinator {

const char* field_script() noexcept {
  return R"page(
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
// The variables that an attribute names: in the group of this one, or in one around it.
function named(variable, attribute) {
  const found = name => { let group = variable.name; while (group.includes("/")) { group = group.slice(0, group.lastIndexOf("/")); if (described(group + "/" + name)) return described(group + "/" + name); } return described(name); };
  return String(variable.attributes[attribute] || "").split(/\s+/).map(found).filter(each => each);
}

// Latitude and longitude of each point, where they do not go along with its row and its column.
function gridOf(variable, shown) {
  if (shown.length !== 2 || shown.some(each => each.count < 2) || shown.every(each => sideOf(unitsOf(coordinateOf(each.name))))) return null;
  const places = each => shown.map(one => each.dimensions.indexOf(one.name)), fits = each => places(each)[0] >= 0 && places(each)[0] < places(each)[1] && each.dimensions.every(name => variable.dimensions.includes(name));
  const all = [...named(variable, "coordinates"), ...variables()].filter(fits), both = ["latitude", "longitude"].map((name, i) => all.find(each => sideOf(unitsOf(each)) === ["NS", "EW"][i] || each.attributes.standard_name === name));
  return both.every(each => each) ? both : null;
}

async function getGrid(both, found, same) {
  const at = each => each.dimensions.map(name => { const one = found.dimensions.find(dimension => dimension.name === name); return one.is_shown ? "*" : one.start; });
  const key = JSON.stringify(both.map(each => [each.name, at(each), found.shown.map(one => one.count)]));
  if (!coordinates[key] || both.some(each => each.has_records)) coordinates[key] = makeGrid(...(await Promise.all(both.map(each => getField(same, each.name, at(each))))).map(each => each.values), ...found.shown.map(each => each.count));
  return coordinates[key];
}

function chooseVariable() {
  const all = variables(), helpers = all.flatMap(each => [...named(each, "coordinates"), ...named(each, "bounds")]), plain = all.filter(each => !helpers.includes(each) && (!coordinateOf(each.name) || each.dimensions.length > 1));
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
    if (!dimension.is_shown) texts.push([dimension.name, await placeText(own, dimension.start, same)]);
  }
  const time = described("time");
  if (time && !time.dimensions.length) texts.push(["time", valueText(time, (await getField(same, "time", [])).values[0])]);
  const grid = gridOf(variable, found.shown);
  field = { ...found, variable, texts, source: short(found.file), grid: grid && await getGrid(grid, found, same) };
  showSlices();
  drawField();
}

// A coordinate; of a time with bounds, also these.
async function placeText(own, index, same) {
  const text = valueText(own, (await getField(same, own.name, [index])).values[0]), bounds = isTime(own) && named(own, "bounds")[0];
  if (!bounds || bounds.dimensions[0] !== own.name || bounds.shape.length !== 2 || bounds.shape[1] !== 2) return text;
  return text + " (" + [...(await getField(same, bounds.name, [index, "*"])).values].map(value => valueText(own, value)).join(" to ") + ")";
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
  const usable = found && found.length === dimension.count && (rising(found) || sideOf(unitsOf(own)) === "EW" && rising(withoutJumps(found)));
  const values = usable || Float64Array.from({ length: dimension.count }, (_, i) => i * dimension.stride), last = values.length - 1;
  const units = usable ? unitsOf(own) : "", side = sideOf(units), step = last > 0 ? (values[last] - values[0]) / last : dimension.stride;
  const label = value => side ? degrees(side, value) : isTime(own) && usable ? valueText(own, value) : number(value);
  const edge = i => i === 0 ? values[0] - (last > 0 ? values[1] - values[0] : step) / 2 : i > last ? values[last] + (last > 0 ? values[last] - values[last - 1] : step) / 2 : (values[i - 1] + values[i]) / 2;
  return { name: dimension.name, values, units, side, label, low: edge(0), high: edge(last + 1), edge, uneven: values.some((value, i) => Math.abs(value - values[0] - i * step) > Math.abs(step) * .05), down: own && own.attributes.positive === "down" };
}

// The values, if they only rise or only fall.
function rising(values) {
  const sign = Math.sign(values[values.length - 1] - values[0]);
  return values.every((value, i) => value === value && (!i || sign * (value - values[i - 1]) > 0)) ? values : null;
}

// Longitudes that go on beyond 180 or 360 degrees, with rows of so many.
function withoutJumps(found, length = found.length) {
  const values = Float64Array.from(found);
  for (let i = 0, last = NaN; i < values.length; i++) { const before = i && i % length === 0 ? values[i - length] : last;
    if (values[i] === values[i] && before === before) values[i] += 360 * Math.round((before - values[i]) / 360);
    if (values[i] === values[i]) last = values[i]; }
  return values;
}

// ---- Grids with a latitude and a longitude for each point ----
function makeGrid(lats, lons, ny, nx) {
  const lon = withoutJumps(lons, nx), gone = value => !(value === value), taken = new Array(360).fill(false), turn = value => ((value % 360) + 360) % 360;
  lon.forEach(value => { if (!gone(value)) taken[Math.floor(turn(value))] = true; });
  let begin = 180, gap = 0;  // of the longitudes: behind the longest gap, where there is one
  for (let i = 0, run = 0; i < 720; i++) { run = taken[i % 360] ? 0 : run + 1; if (run > Math.max(gap, 20)) { gap = run; begin = (i + 1) % 360; } }
  if (begin >= 180) begin -= 360;
  const shift = value => -360 * Math.floor((value - begin) / 360), range = values => { let low = Infinity, high = -Infinity;
    for (const value of values) if (!gone(value)) { low = Math.min(low, value); high = Math.max(high, value); }
    const pad = (high - low) / (Math.min(ny, nx) - 1) / 2; return [low - pad, high + pad]; };
  const [low, high] = gap ? range(lon.map(value => value + shift(value))) : [begin, begin + 360], [south, north] = range(lats).map(value => Math.max(-90, Math.min(90, value)));
  const label = side => value => degrees(side, value);
  return { lats, lon, ny, nx, shift, around: !gap, x: { side: "EW", label: label("EW"), low, high }, y: { side: "NS", label: label("NS"), low: south, high: north } };
}

// The cell that each pixel is in, by row and column; -1: none. A corner is amid the points around it.
function cellsOfGrid(grid, width, height) {
  const { lats, lon, ny, nx, x, y } = grid, cells = new Int32Array(width * height).fill(-1), across = nx + 1;
  const point = (values, row, column) => { const r = Math.max(0, Math.min(ny - 1, row)), c = Math.max(0, Math.min(nx - 1, column)), value = values[r * nx + c];
    return value + (r !== row ? value - values[(r + r - row) * nx + c] : 0) + (c !== column ? value - values[r * nx + c + c - column] : 0); };
  const corners = values => { const all = new Float64Array((ny + 1) * across);
    for (let i = 0; i < all.length; i++) { const row = Math.floor(i / across), column = i % across, at = row * nx + column;
      const four = row && column && row < ny && column < nx ? values[at] + values[at - 1] + values[at - nx] + values[at - nx - 1] : NaN;
      if (four === four) { all[i] = four / 4; continue; }
      let sum = 0, count = 0;  // at an edge, or beside a point without a place
      for (let k = 0; k < 4; k++) { const value = point(values, row - (k >> 1), column - (k & 1)); if (value === value) { sum += value; count++; } }
      all[i] = sum / count; }
    return all; };
  const lines = corners(lats).map(value => (y.high - value) / (y.high - y.low) * height), turns = corners(lon), round = 360 / (x.high - x.low) * width;
  const xs = new Float64Array(4), ys = new Float64Array(4), corner = [0, 1, across + 1, across];
  for (let own = 0; own < ny * nx; own++) {
    if (!(lats[own] === lats[own] && lon[own] === lon[own])) continue;
    for (let k = 0; k < 4; k++) { const at = own + Math.floor(own / nx) + corner[k];
      ys[k] = lines[at]; xs[k] = (turns[at] + grid.shift(lon[own]) - x.low) / (x.high - x.low) * width; }
    if (Math.max(...xs) - Math.min(...xs) > round / 2) continue;  // around a pole
    fill(xs, ys, own, cells, width, height);
    for (const turned of grid.around ? [-round, round] : []) fill(xs.map(value => value + turned), ys, own, cells, width, height);
  }
  return cells;
}

// As long as the grid and its size on the page are the same.
function cellsOf(grid, width, height) {
  if (grid.width !== width || grid.height !== height) Object.assign(grid, { width, height, cells: cellsOfGrid(grid, width, height) });
  return grid.cells;
}

function fill(xs, ys, own, cells, width, height) {
  const from = ([a, b, c, d]) => Math.max(0, Math.ceil(Math.min(a, b, c, d) - .5)), to = ([a, b, c, d], most) => Math.min(most - 1, Math.floor(Math.max(a, b, c, d) - .5));
  const left = from(xs), right = to(xs, width), end = to(ys, height);
  for (let py = from(ys); py <= end; py++) for (let px = left; px <= right; px++) {
    let inside = false;
    for (let i = 0, j = 3; i < 4; j = i++) if (ys[i] > py + .5 !== ys[j] > py + .5 && px + .5 < (xs[j] - xs[i]) * (py + .5 - ys[i]) / (ys[j] - ys[i]) + xs[i]) inside = !inside;
    if (inside) cells[py * width + px] = own;
  }
}

// The same of rows and columns that are not all of one size.
function cellsOfAxes(y, x, width, height) {
  const places = (each, length, turned) => { const list = new Int32Array(length), last = each.values.length - 1;
    for (let pixel = 0, i = 0; pixel < length; pixel++) { const part = (pixel + .5) / length; while (i < last && (each.edge(i + 1) - each.edge(0)) / (each.edge(last + 1) - each.edge(0)) < part) i++; list[turned ? length - 1 - pixel : pixel] = i; }
    return list; };
  const rows = places(y, height, !y.flip), columns = places(x, width, false);
  return Int32Array.from({ length: width * height }, (_, i) => rows[Math.floor(i / width)] * x.values.length + columns[i % width]);
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
  const [ny, nx] = field.shown.map(each => each.count), grid = field.grid, [y, x] = grid ? [{ ...grid.y }, grid.x] : field.shown.map(axis), narrow = canvas.clientWidth < 520;
  if (y.down ? y.low < y.high : y.low > y.high) y.flip = true;  // the larger coordinate is at the top, or the deeper one at the bottom
  const across = canvas.clientWidth - 52 - (narrow ? 12 : 84), round = x.side && y.side, ratio = round ? Math.abs((y.high - y.low) / (x.high - x.low)) / Math.max(.4, Math.cos((y.high + y.low) * Math.PI / 360)) : field.shown[0].length / field.shown[1].length;
  const box = { x: 52, y: 8, w: across, h: Math.max(120, Math.min(across * ratio, window.innerHeight * .72, 900)) };
  if (round || ratio < 4) box.w = Math.min(across, Math.max(120, box.h / ratio));
  const { pen } = sheet(canvas, box.h + (narrow ? 78 : 34)), sharp = window.devicePixelRatio || 1, free = grid || y.uneven || x.uneven, [wide, high] = free ? [box.w, box.h].map(size => Math.round(size * sharp)) : [nx, ny];
  const cells = !free ? null : grid ? cellsOf(grid, wide, high) : cellsOfAxes(y, x, wide, high);
  const image = new ImageData(Math.max(wide, 1), Math.max(high, 1)), colours = table(range[0] < 0 && range[1] > 0 ? "both" : "up");
  const land = colour("--land").match(/\w\w/g).map(each => parseInt(each, 16)), scale = 255 / (range[1] - range[0]), pixels = image.data;
  const cellAt = (line, column) => cells ? cells[line * wide + column] : (y.flip ? line : ny - 1 - line) * nx + column;
  for (let line = 0, to = 0; line < high; line++) for (let column = 0; column < wide; column++, to += 4) {
    const cell = cellAt(line, column), value = field.values[cell];
    const rgb = cell >= 0 && value === value ? colours[Math.max(0, Math.min(255, Math.round((value - range[0]) * scale)))] : land;
    pixels[to] = rgb[0]; pixels[to + 1] = rgb[1]; pixels[to + 2] = rgb[2]; pixels[to + 3] = cell < 0 ? 0 : 255;
  }
  const raw = document.createElement("canvas");
  raw.width = image.width; raw.height = image.height;
  raw.getContext("2d").putImageData(image, 0, 0);
  pen.imageSmoothingEnabled = !cells && nx > box.w;
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
    const column = Math.floor((px - box.x) / box.w * wide), line = Math.floor((py - box.y) / box.h * high);
    const cell = column < 0 || line < 0 || column >= wide || line >= high ? -1 : cellAt(line, column);
    return cell < 0 ? null : [Math.floor(cell / nx), cell % nx];
  };
  canvas.point = (px, py) => {
    const place = canvas.place(px, py);
    if (!place) return "";
    const value = field.values[place[0] * nx + place[1]], text = (each, index) => each.name + " " + each.label(each.values[index]) + (each.side || !each.units || / since /.test(each.units) ? "" : " " + each.units);
    const where = grid ? [[y, grid.lats], [x, grid.lon]].map(([each, values]) => each.label(values[place[0] * nx + place[1]])) : [text(y, place[0]), text(x, place[1])];
    return where.join(", ") + ": " + (value === value ? number(value) + (units ? " " + units : "") : "no value");
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
  canvas.point = px => { if (px < box.x || px > box.x + box.w) return ""; let i = 0; while (i + 1 < values.length && Math.abs(at(i + 1)[0] - px) <= Math.abs(at(i)[0] - px)) i++; return x.name + " " + x.label(x.values[i]) + (x.side || / since /.test(x.units) ? "" : " " + x.units) + ": " + number(values[i]); };
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
