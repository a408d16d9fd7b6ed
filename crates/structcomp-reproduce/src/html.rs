//! HTML pages without scripts or external files, readable on phones and in print.

use crate::plot::escaped;

/// Light by default and in print. Pictures have their colors as attributes, which the dark style overrides.
const STYLE: &str = "
:root { color-scheme: light dark; }
body { font: 16px/1.5 Helvetica, Arial, sans-serif; color: #222; background: #fff; max-width: 46rem; margin: 0 auto; padding: 1rem; }
h1 { font-size: 1.5rem; line-height: 1.25; margin: .5rem 0 0; overflow-wrap: anywhere; }
h2 { font-size: 1.15rem; margin: 2rem 0 .5rem; }
p { margin: .3rem 0; }
.faint { color: #666; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; font-weight: normal; padding: .25rem .6rem .25rem 0; border-bottom: 1px solid #e6e6e6; vertical-align: top; }
td { overflow-wrap: anywhere; }
thead th { color: #666; font-size: .85rem; }
thead th.number { text-align: right; }
td.number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
td.wide { width: 40%; }
tr.first td, tr.first th { font-weight: bold; }
.bar { background: #0072b2; height: .7rem; margin-top: .45rem; min-width: 1px; print-color-adjust: exact; -webkit-print-color-adjust: exact; }
svg { width: 100%; height: auto; }
ul.legend { list-style: none; padding: 0; margin: .3rem 0; display: flex; flex-wrap: wrap; gap: .2rem 1rem; font-size: .85rem; }
ul.legend span { display: inline-block; width: .8rem; height: .8rem; margin-right: .35rem; print-color-adjust: exact; -webkit-print-color-adjust: exact; }
@media screen and (prefers-color-scheme: dark) {
  body { color: #ddd; background: #181818; }
  .faint, thead th { color: #aaa; }
  th, td { border-color: #3a3a3a; }
  svg [fill='white'] { fill: #181818; }
  svg [fill='#222'] { fill: #ddd; }
  svg [fill='#777'] { fill: #aaa; }
  svg [stroke='#222'] { stroke: #bbb; }
  svg [stroke='#e6e6e6'] { stroke: #3a3a3a; }
  svg polyline[stroke='#0072b2'] { stroke: #56b4e9; }
  svg rect[fill='#0072b2'] { fill: #56b4e9; }
  .bar { background: #56b4e9; }
}
@media (max-width: 30rem) { td.wide { width: 24%; } }
@media print { body { max-width: none; font-size: 11pt; } section { break-inside: avoid; } }
";

/// A page with its own additions to the style.
pub(crate) fn page(title: &str, style: &str, body: &str) -> String {
    let title = escaped(title);
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n\
         <title>{title}</title>\n<style>{STYLE}{style}</style>\n</head>\n<body>\n<h1>{title}</h1>\n{body}</body>\n</html>\n"
    )
}
