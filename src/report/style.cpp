#include "report/style.hpp"

namespace trireme::report {

// The three colours are told apart by people who see no red or green, and in grey.
const char* style_sheet() {
    return R"css(
:root { color-scheme: light dark; --paper: #fff; --ink: #1c2430; --soft: #5a6675; --rule: #dde2e8;
        --c0: #1f66ad; --c1: #e08214; --c2: #9aa5b1; --good: #1b7f4b; --bad: #b3261e; --open: #8a6100; }
@media (prefers-color-scheme: dark) {
  :root { --paper: #14181d; --ink: #e4e8ed; --soft: #9aa7b5; --rule: #2d353e;
          --c0: #6cb0f2; --c1: #f2a552; --c2: #66727f; --good: #5fcf95; --bad: #ff8a80; --open: #e5bd5c; }
}
@media print {
  :root { color-scheme: light; --paper: #fff; --ink: #000; --soft: #444; --rule: #ccc;
          --c0: #1f66ad; --c1: #e08214; --c2: #9aa5b1; --good: #1b7f4b; --bad: #b3261e; --open: #8a6100; }
  body { max-width: none; padding: 0; }
  figure, tr, h2 { break-inside: avoid; }
  h2 { break-after: avoid; }
}
* { box-sizing: border-box; }
body { max-width: 1020px; margin: 0 auto; padding: 28px 20px 48px; background: var(--paper); color: var(--ink);
       font: 15px/1.45 system-ui, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
h1 { margin: 0; font-size: 27px; font-weight: 650; }
h2 { margin: 34px 0 10px; padding-bottom: 5px; border-bottom: 1px solid var(--rule); font-size: 18px; }
.facts { margin: 4px 0 14px; color: var(--soft); overflow-wrap: anywhere; }
.verdict { margin: 0; padding: 9px 14px; border: 1px solid; border-left-width: 5px; border-radius: 4px; }
.verdict b { margin-right: 6px; letter-spacing: .04em; }
.valid { color: var(--good); } .invalid { color: var(--bad); } .open { color: var(--open); }
.figures td, .machine td { overflow-wrap: anywhere; }
.trace svg { max-width: 100%; height: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: 5px 18px 5px 0; border-bottom: 1px solid var(--rule); text-align: left; vertical-align: top; }
th { font-weight: 600; white-space: nowrap; }
.figures table { width: 100%; }
.figures tr > :nth-child(2), .figures tr > :nth-child(3) { text-align: right; white-space: nowrap; }
.figures tr > :nth-child(3) { padding-right: 26px; }
.figures td:last-child { width: 52%; min-width: 9em; padding-right: 0; color: var(--soft); }
.layout pre { margin: 0; padding: 2px 8px; border: 0; display: inline-block; }
.changes table { width: 100%; } .changes td:nth-child(2) { width: 55%; }

.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 400px), 1fr)); gap: 22px 20px; }
figure { display: flex; flex-direction: column; min-width: 0; margin: 0; } figure.wide { grid-column: 1 / -1; }
figcaption { font-weight: 600; }
figure > svg { display: block; width: 100%; height: auto; margin-top: auto; }

.legend { display: flex; flex-wrap: wrap; gap: 2px 22px; margin: 2px 0 4px; color: var(--soft); font-size: 13px; }
.legend b { color: var(--ink); font-weight: 600; } .legend svg { vertical-align: -1px; }
svg { overflow: visible; } svg text { fill: var(--soft); font-size: 12px; font-variant-numeric: tabular-nums; }
@media (max-width: 640px) { figure.wide svg text { font-size: 19px; } }
.grid { stroke: var(--rule); } .axis, .tick { stroke: var(--soft); fill: none; }
.line, .faint { fill: none; stroke-linejoin: round; }
.line { stroke-width: 2; } .faint { stroke-width: 1; opacity: .45; }
.line.c0, .faint.c0 { stroke: var(--c0); } .line.c1, .faint.c1 { stroke: var(--c1); }
.event { fill: none; stroke-width: 1.5; } .event.e0 { stroke: var(--bad); } .event.e1 { stroke: var(--good); }
.event.e2 { stroke: var(--c1); } .event.e3 { stroke: var(--c2); }
.dot { stroke: var(--paper); stroke-width: 1.5; }
.dot.c0, .bar.c0 { fill: var(--c0); } .dot.c1, .bar.c1 { fill: var(--c1); } .bar.c2 { fill: var(--c2); }
.bar.c3 { fill: var(--good); } .bar.c4 { fill: var(--rule); }
summary { cursor: pointer; } code, pre { font: 13px/1.4 ui-monospace, Menlo, Consolas, monospace; }
pre { padding: 12px 14px; border: 1px solid var(--rule); border-radius: 4px; white-space: pre-wrap;
      overflow-wrap: anywhere; }
)css";
}

}  // namespace trireme::report
