#include "live_page.hpp"

#include <map>

namespace sluice::coordinator {
namespace {

constexpr const char* html = R"page(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Sluice</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="live.css">
<script src="live.js" defer></script>
</head>
<body>
<header>
<h1 id="run">Sluice</h1><span id="state" class="pill">connecting</span><a href="report" target="_blank">report</a>
<dl id="figures"></dl>
</header>
<main>
<div>
<section id="field" aria-label="Field">
<form id="choice" autocomplete="off">
<label>files <select id="rule"></select></label>
<label>file <select id="file"></select></label>
<label>variable <select id="variable"></select></label>
<label>as <select id="form"><option value="map">map</option><option value="line">line</option><option value="histogram">histogram</option></select></label>
<label>colours <select id="range"><option value="most">98 % of values</option><option value="all">all values</option><option value="held">as now, held</option></select></label>
</form>
<div id="slices"></div>
<p id="caption" aria-live="polite">No file has been published yet.</p>
<div id="plot"><canvas id="canvas" tabindex="0" role="img" aria-label="Map, line or histogram of the variable"></canvas></div>
<p id="reading" class="note">&nbsp;</p>
</section>
<section id="flow"><h2>Components and files</h2><div id="graph"></div></section>
<section id="files"><h2>Files</h2><div class="wide"><table><thead><tr><th>file</th><th>state</th><th class="number">size</th><th>used by</th></tr></thead><tbody id="rows"></tbody></table></div><p id="more" class="note"></p></section>
</div>
<div>
<section id="side">
<h2>Components</h2><div id="components"></div>
<h2>Memory</h2><canvas id="memory" role="img" aria-label="Memory over time"></canvas><p id="memory-text" class="note"></p>
<h2>Put and got</h2><canvas id="rates" role="img" aria-label="Rates over time"></canvas><p id="rates-text" class="note"></p>
</section>
<section id="log"><h2>Events</h2><ol id="events"></ol></section>
</div>
</main>
<footer class="note">Keys: <kbd>←</kbd> <kbd>→</kbd> file, <kbd>↑</kbd> <kbd>↓</kbd> slice, <kbd>f</kbd> follow the newest, <kbd>v</kbd> variable, <kbd>m</kbd> map, <kbd>l</kbd> line, <kbd>h</kbd> histogram, <kbd>r</kbd> colours. A click on the map shows the line through that point.</footer>
</body>
</html>
)page";

}  // namespace

const WebAnswer* part_of_page(const std::string& path) {
  static const std::map<std::string, WebAnswer> parts{
      {"", {200, "text/html; charset=utf-8", html}},
      {"live.js", {200, "text/javascript; charset=utf-8", std::string(live_script()) + field_script()}},
      {"live.css", {200, "text/css; charset=utf-8", live_style()}}};
  const auto found = parts.find(path);
  return found == parts.end() ? nullptr : &found->second;
}

}  // namespace sluice::coordinator
