// The style of the page of a run that goes on. Colours are those of the report.
#include "live_page.hpp"

namespace sluice::coordinator {

const char* live_style() noexcept {
  return R"page(
:root { color-scheme: light dark; --ink: #15181e; --paper: #f6f6f3; --card: #fffffd; --faint: #667; --rule: #dcdfe4; --land: #c4c8c2;
  --put: #2f6db5; --get: #2f8f5b; --wait: #c8532f; --spill: #8a7a3c; --over: #8a8f99; --box: #e4edf8; --files: #f5ecd5; --line: #8890a0; }
@media (prefers-color-scheme: dark) { :root { --ink: #e5e8ee; --paper: #101318; --card: #181c23; --faint: #9aa0ad; --rule: #2b313b; --land: #353b45;
  --put: #6aa5ea; --get: #62c48c; --wait: #f0825c; --spill: #cbb866; --over: #7c8390; --box: #21364f; --files: #453d24; --line: #7f8899; } }
* { box-sizing: border-box; }
a { color: var(--put); }
body { margin: 0; font: 14px/1.45 system-ui, sans-serif; color: var(--ink); background: var(--paper); }
header { display: flex; flex-wrap: wrap; align-items: center; gap: .3em 1em; padding: .7em 1.2em; background: var(--card); border-bottom: 1px solid var(--rule); }
h1 { font-size: 1.25em; margin: 0; } h2 { font-size: .8em; margin: 1.4em 0 .5em; color: var(--faint); text-transform: uppercase; letter-spacing: .06em; font-weight: 600; }
section > h2:first-child { margin-top: 0; }
.pill { padding: .1em .8em; border-radius: 1em; color: #fff; background: var(--over); } .pill.running { background: var(--get); } .pill.silent { background: var(--wait); }
@media (prefers-color-scheme: dark) { .pill { color: #101318; } }
dl { display: flex; flex-wrap: wrap; gap: .2em 1.6em; margin: 0 0 0 auto; } dl div { display: flex; gap: .5em; } dt { color: var(--faint); } dd { margin: 0; font-variant-numeric: tabular-nums; font-weight: 600; }
main { display: grid; grid-template-columns: minmax(0, 2.3fr) minmax(0, 1fr); gap: 12px; align-items: stretch; padding: 12px; max-width: 1500px; margin: auto; }
section { background: var(--card); border: 1px solid var(--rule); border-radius: 8px; padding: 12px 14px; min-width: 0; }
main > div { display: flex; flex-direction: column; gap: 12px; min-width: 0; } #log { flex: 1 1 20em; display: flex; flex-direction: column; }
form, #slices > label { display: flex; flex-wrap: wrap; gap: .4em 1em; align-items: center; } form label { color: var(--faint); }
select, button { font: inherit; color: inherit; background: var(--card); border: 1px solid var(--rule); border-radius: 5px; padding: .15em .4em; max-width: 15em; }
:focus-visible { outline: 2px solid var(--put); outline-offset: 1px; }
#slices > label { margin-top: .4em; flex-wrap: nowrap; } #slices input { flex: 1 1 8em; min-width: 4em; accent-color: var(--put); } #slices output { min-width: 9em; font-variant-numeric: tabular-nums; }
#caption { margin: .7em 0 .4em; font-weight: 600; min-height: 1.45em; } #caption span { font-weight: 400; color: var(--faint); }
#plot canvas { width: 100%; display: block; cursor: crosshair; } .note { color: var(--faint); font-size: .92em; margin: .4em 0; }
#reading { font-variant-numeric: tabular-nums; margin-bottom: 0; }
.component { display: grid; grid-template-columns: auto 1fr auto; gap: 0 .6em; padding: .3em 0; border-bottom: 1px solid var(--rule); align-items: baseline; }
.component::before { content: ""; width: .7em; height: .7em; border-radius: 50%; background: var(--over); } .component p { grid-column: 2 / -1; margin: 0; color: var(--faint); overflow-wrap: anywhere; }
.component.computes::before { background: var(--get); } .component.waits::before { background: var(--wait); } .component.copies::before { background: var(--put); }
#memory, #rates { width: 100%; height: 74px; display: block; }
#components { max-height: 24em; overflow-y: auto; } #graph { max-height: 36em; overflow: auto; } svg { display: block; margin: auto; max-width: none; } svg text { font: 13px system-ui, sans-serif; fill: var(--ink); text-anchor: middle; } svg .small { font-size: 11px; fill: var(--faint); }
svg .bold { font-weight: 600; } rect { stroke: var(--line); fill: var(--box); } rect.files { fill: var(--files); } rect.waits { stroke: var(--wait); stroke-width: 2; } rect.ended { opacity: .55; }
path.edge { fill: none; stroke: var(--line); stroke-width: 1.5; } path.busy { stroke-width: 2.5; stroke-dasharray: 7 5; animation: flow 1s linear infinite; } path.put { stroke: var(--put); } path.get { stroke: var(--get); }
svg .rate { font-size: 11px; paint-order: stroke; stroke: var(--card); stroke-width: 4px; }
@keyframes flow { to { stroke-dashoffset: -12; } } @media (prefers-reduced-motion: reduce) { path.busy { animation: none; } }
.wide { overflow-x: auto; max-height: 22em; overflow-y: auto; } table { border-collapse: collapse; width: 100%; } th { color: var(--faint); font-weight: 600; position: sticky; top: 0; background: var(--card); } th, td { padding: .2em .8em .2em 0; text-align: left; white-space: nowrap; border-bottom: 1px solid var(--rule); }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
#events { list-style: none; margin: 0; padding: 0; font: 12px/1.5 ui-monospace, monospace; flex: 1 1 0; min-height: 14em; overflow-y: auto; } #events li { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; } #events time { color: var(--faint); margin-right: .8em; }
footer { padding: 0 1.4em 1.5em; max-width: 1500px; margin: auto; } kbd { font: inherit; border: 1px solid var(--rule); border-radius: 4px; padding: 0 .35em; background: var(--card); }
@media (max-width: 900px) { main { grid-template-columns: minmax(0, 1fr); padding: 8px; gap: 8px; } main > div { display: contents; } #field { order: -2; } #side { order: -1; } #events { min-height: 0; max-height: 24em; flex: none; } header { padding: .6em 1em; } dl { margin: 0; } }
@media (max-width: 500px) { form label { flex: 1 1 100%; display: flex; justify-content: space-between; gap: 1em; } form select { flex: 0 1 70%; } #slices output { min-width: 5em; } }
)page";
}

}  // namespace sluice::coordinator
