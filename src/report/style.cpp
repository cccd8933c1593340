#include "report/style.h"

#include "report/chart.h"
#include "report/palette.h"

#include <fmt/format.h>
#include <packed_explore.h>

namespace deepgap {
namespace {

constexpr std::string_view sheet = R"css(
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%;scroll-behavior:smooth}
body{margin:0;overflow-wrap:break-word;background:var(--page);color:var(--ink);font:17px/1.55 Charter,"Bitstream Charter","Sitka Text",Cambria,Georgia,serif}
main,header,footer{max-width:1240px;margin:0 auto;padding:0 24px}
header{padding-top:52px}
h1{font-size:36px;line-height:1.15;letter-spacing:-.01em;margin:0 0 14px;font-weight:600;overflow-wrap:anywhere}
h2{font-size:25px;line-height:1.25;margin:60px 0 6px;padding-top:16px;border-top:1px solid var(--rule);font-weight:600}
h3{font-size:19px;margin:34px 0 2px;font-weight:600;overflow-wrap:anywhere}
p{margin:0 0 10px;max-width:74ch}
a{color:var(--link);text-decoration-thickness:1px;text-underline-offset:2px}
.sans,nav,figure,table,.facts,.legend,.evidence,.stats,footer,.aside,summary,.eyebrow{font-family:system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif}
.eyebrow{font-size:13px;letter-spacing:.09em;text-transform:uppercase;color:var(--muted);margin-bottom:10px}
.lede{font-size:19px;line-height:1.5;color:var(--soft)}
nav{font-size:14px;margin:20px 0 0;display:flex;flex-wrap:wrap;gap:4px 20px}
.aside{font-size:14px;line-height:1.5;color:var(--muted)}
.stats{display:flex;flex-wrap:wrap;gap:12px 44px;margin:24px 0 0;padding:0}
.stats div{display:flex;flex-direction:column-reverse}
.stats dt{font-size:13px;color:var(--muted)}
.stats dd{margin:0;font-size:25px;line-height:1.2;font-weight:600;font-variant-numeric:tabular-nums}
ul.says{list-style:none;margin:14px 0 0;padding:0;display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,max(350px,(100% - 36px*(var(--n) - 1))/var(--n))),1fr));gap:16px 36px}
ul.says li{border-left:3px solid var(--rule);padding:1px 0 1px 14px;min-width:0}
ul.says .head{font-weight:600;margin:0;line-height:1.4;overflow-wrap:anywhere}
ul.says .detail{margin:2px 0 0;font-size:16px;line-height:1.5;color:var(--soft);overflow-wrap:anywhere}
ul.says li.result{border-color:var(--c0)}
ul.says li.warning{border-color:var(--warn)}
ul.says li.failure{border-color:var(--bad)}
ul.lead .head{font-size:20px;line-height:1.35}
.tone{font:600 12px/1 system-ui,sans-serif;letter-spacing:.04em;text-transform:uppercase;margin-right:7px}
.warning .tone{color:var(--warn)}.failure .tone{color:var(--bad)}
.evidence{font-size:13px;color:var(--muted);margin:3px 0 0}
.legend{display:flex;flex-wrap:wrap;gap:2px 20px;font-size:14px;margin:8px 0 2px;padding:0;list-style:none}
.legend li{display:flex;align-items:center;gap:7px;overflow-wrap:anywhere;min-width:0}
.swatch{width:26px;height:12px;flex:none;overflow:visible}
.charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,340px),1fr));gap:20px 28px;margin:10px 0 0}
figure{margin:0;min-width:0;max-width:460px}figure.wide{max-width:700px;margin-bottom:10px}figure.wide figcaption{margin:4px 0 0}
figcaption{font-size:15px;line-height:1.4;margin-bottom:6px}
figcaption b{font-weight:600}figcaption span{color:var(--muted);font-size:13px;display:block}
svg.chart{display:block;width:100%;height:auto;overflow:visible;font-family:system-ui,-apple-system,"Segoe UI",Roboto,Arial,sans-serif}
.grid path{stroke:var(--grid);stroke-width:1}
.axis,.tick path{stroke:var(--axis);stroke-width:1;fill:none}
.tick text{font-size:12px;fill:var(--muted);font-variant-numeric:tabular-nums}
.axis-title{font-size:12.5px;fill:var(--soft)}
.line .path{fill:none;stroke:var(--c);stroke-width:2;stroke-linejoin:round;stroke-linecap:round}
.line .bar{fill:none;stroke:var(--c);stroke-width:1.3}
.line .cut{opacity:.4}.line .band{fill:var(--c);opacity:.18}.line .path.thin{stroke-width:1.4}.found{fill:none;stroke:var(--warn);stroke-width:2;stroke-dasharray:6 4}
.line .mark{fill:var(--c);stroke:var(--page);stroke-width:1.2}
.line .hollow{fill:var(--page);stroke:var(--c);stroke-width:1.6}
.line.faint .path{stroke-width:1.6;stroke-dasharray:.1 4;opacity:.8}
.line g:hover .mark{stroke:var(--ink);stroke-width:1.6}
.place rect{fill:var(--page);stroke:var(--axis)}.place .gpu rect{stroke:var(--c0);stroke-width:1.5}.place path{fill:none;stroke:var(--axis);stroke-width:1.3}.place .nvlink{stroke:var(--c1);stroke-width:2}
.place text{font-size:11.5px;fill:var(--soft);font-variant-numeric:tabular-nums}.place .name{font-size:13px;font-weight:600;fill:var(--ink)}
.label{font-size:12px;font-weight:600;fill:var(--c);stroke:var(--page);stroke-width:3px;paint-order:stroke;stroke-linejoin:round}
.tag{font-size:11px;fill:var(--soft);stroke:var(--page);stroke-width:3px;paint-order:stroke}
.scroll{overflow-x:auto;margin:14px -24px 0;padding:0 24px 6px}
table{border-collapse:collapse;font-size:14px;line-height:1.35;font-variant-numeric:tabular-nums}
th,td{padding:7px 16px 7px 0;text-align:left;vertical-align:top;border-bottom:1px solid var(--grid)}
th{font-weight:600;border-bottom:1.5px solid var(--axis);white-space:nowrap;vertical-align:bottom}
th span{display:block;font-weight:400;font-size:12px;color:var(--muted)}
.points{width:100%;font-size:13px}.points th,.points td{padding-right:10px}.points th:last-child,.points td:last-child{padding-right:0}
.points td{overflow-wrap:break-word}.points td.num{white-space:nowrap}.points td.num small,.points th.num{white-space:normal}.points th{white-space:normal}
.points td.wrap{min-width:8em;max-width:18em}
.num{text-align:right;white-space:nowrap}.num small{white-space:normal}
table.best{width:100%}.best tbody th{white-space:normal;vertical-align:top}.best tbody tr:last-child td,.best tbody th{border-bottom:1px solid var(--axis)}
td small{display:block;font-size:12px;color:var(--muted)}
td.model{font-weight:600}
tr.unstable td,tr.invalid td{background:var(--warn-tint)}tr.failed td{color:var(--muted)}
tr:target td{background:var(--hit)}
.points td small{font-size:11px}.points td.verdict{min-width:7em;max-width:16em}.points td.verdict small{overflow-wrap:anywhere}
.unstable .verdict,.invalid .verdict,.failed .verdict{font-weight:600;color:var(--warn)}
.failed .verdict{color:var(--bad)}.verdict small{font-weight:400}
th button{all:unset;cursor:pointer}th button:focus-visible{outline:2px solid var(--link)}
th[aria-sort=ascending] button::after{content:" \2191"}th[aria-sort=descending] button::after{content:" \2193"}
code{font:13.5px/1.45 ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;overflow-wrap:anywhere}
.kv td:first-child{color:var(--muted);white-space:nowrap}.kv td{overflow-wrap:anywhere}
details{margin:16px 0 0}summary{cursor:pointer;font-size:15px;color:var(--link)}
.tools{display:flex;flex-wrap:wrap;gap:6px;margin:4px 0 0}
.tool{font:12px/1.3 system-ui,-apple-system,"Segoe UI",Roboto,Arial,sans-serif;color:var(--soft);background:none;border:1px solid var(--rule);border-radius:5px;padding:3px 8px;cursor:pointer}
.tool:hover,.tool[aria-pressed=true]{border-color:var(--link);color:var(--link)}.tool[aria-pressed=true]{background:var(--hit)}
:focus-visible{outline:2px solid var(--link);outline-offset:1px}
header{position:relative}.theme{position:absolute;top:16px;right:24px}
.filters{max-width:1240px;margin:18px auto 0;padding:0 24px;display:flex;flex-wrap:wrap;gap:8px 18px;font:14px/1.4 system-ui,-apple-system,"Segoe UI",Roboto,Arial,sans-serif}
.filters label{display:flex;align-items:center;gap:6px;color:var(--muted)}
select,input[type=search]{font:inherit;color:var(--ink);background:var(--page);border:1px solid var(--axis);border-radius:5px;padding:4px 6px;min-width:0;max-width:100%}
.tip{position:fixed;z-index:9;max-width:min(340px,90vw);padding:6px 10px;border:1px solid var(--axis);border-radius:6px;background:var(--page);color:var(--ink);font:13px/1.45 system-ui,-apple-system,"Segoe UI",Roboto,Arial,sans-serif;white-space:pre-line;overflow-wrap:anywhere;pointer-events:none}
.lit .mark{stroke:var(--ink);stroke-width:2}[hidden]{display:none!important}
footer{margin-top:64px;padding-top:16px;padding-bottom:44px;font-size:13px;color:var(--muted)}
@media(max-width:600px){
body{font-size:16px}main,header,footer,.filters{padding-left:16px;padding-right:16px}.theme{right:16px;top:8px}.tool{padding:6px 10px;font-size:13px}header{padding-top:30px}
h1{font-size:28px}h2{font-size:22px;margin-top:46px}.lede{font-size:17px}.stats{gap:12px 30px}.stats dd{font-size:21px}
.scroll{margin-left:-16px;margin-right:-16px;padding-left:16px;padding-right:16px}
.scroll:has(.sortable){overflow:visible}
.sortable,.sortable tbody{display:block;font-size:14px}.sortable thead{display:none}
.sortable tr{display:grid;grid-template-columns:repeat(3,minmax(0,1fr));gap:2px 12px;padding:12px 0;border-bottom:1px solid var(--rule)}
.sortable td,.sortable td.num,.sortable td.wrap,.sortable td.verdict{display:block;border:0;padding:0;text-align:left;white-space:normal;min-width:0;max-width:none;order:3;overflow-wrap:anywhere}
.sortable td::before{display:block;font-size:11px;font-weight:400;color:var(--muted);content:var(--t)}
.sortable td.head{order:0}.sortable td.model{grid-column:1/-1;font-size:16px}.sortable td.model::before{content:none}.sortable td.main{order:1;font-weight:600}.sortable td.main small{font-weight:400}
.sortable td.verdict{order:2;grid-column:1/-1}.sortable td:empty{display:none}
.sortable tr.unstable,.sortable tr.invalid{background:var(--warn-tint)}.sortable tr:target{background:var(--hit)}
.scroll:has(.best){overflow:visible}
.best,.best tbody{display:block}.best thead{display:none}.best tbody{border-bottom:1px solid var(--rule);padding:10px 0}
.best tr{display:flex;flex-wrap:wrap;gap:0 12px;padding:3px 0}.best tr td,.best tbody th{display:block;border:0!important;padding:0}
.best tbody th{flex:0 0 100%;font-size:16px}.best td.what{flex:1 1 45%}.best td.value{flex:1 1 40%}
.best .with{color:var(--muted);font-size:13px}.best .batch{text-align:left}.best .batch:not(:empty)::before{content:"batch "}
.kv td{display:block;padding-right:0}.kv td:first-child{border:0;padding-bottom:0;white-space:normal}.kv td+td{padding-top:1px}
}
@media print{
@page{margin:12mm}
nav,.tools,.tool,.filters,.tip{display:none!important}body{font-size:10.5pt}main,header,footer{padding:0;max-width:none}header{padding-top:0}h2{margin-top:24pt}h2,h3{break-after:avoid}
figure,li,tr{break-inside:avoid}.charts{grid-template-columns:repeat(auto-fit,minmax(155pt,1fr))}figcaption,.legend{font-size:8pt}figcaption span{font-size:7pt}
.scroll{overflow:visible;margin-left:0;margin-right:0;padding:0}
.points{font-size:6.8pt}.points th,.points td{padding:2pt 3pt 2pt 0}.points td.num{white-space:normal}.points td small,.points th span{font-size:5.8pt}
.points td.wrap,.points td.verdict{min-width:0;max-width:none}.points td.verdict,.points td small{overflow-wrap:anywhere}
.kv{font-size:8pt}
}
)css";

constexpr std::string_view light_tones =
    "--page:{};--ink:#16191d;--soft:#3d444d;--muted:#5f6873;--rule:#d9dde2;--grid:#e8ebef;--axis:#8c959f;--link:#0a58a0;--warn:#9a5b00;"
    "--bad:#b3261e;--warn-tint:#fff7e8;--hit:#e6f1fb;color-scheme:light dark;";
constexpr std::string_view dark_tones =
    "--page:{};--ink:#e9ecf0;--soft:#c0c7d0;--muted:#98a1ac;--rule:#343a42;--grid:#272c33;--axis:#6d7681;--link:#7fbcf5;--warn:#f0b34a;"
    "--bad:#ff8a80;--warn-tint:#2a2417;--hit:#1b3046;";

std::string variables(std::string_view tones, const Palette& palette) {
  std::string text = fmt::format(fmt::runtime(tones), palette.page);
  for (size_t i = 0; i < palette_size; ++i) text += fmt::format("--c{}:{};", i, palette.lines[i]);
  return text;
}

}  // namespace

std::string report_style() {
  const std::string light = variables(light_tones, light_palette), dark = variables(dark_tones, dark_palette);
  // Paper is light whatever the screen is; what the reader has chosen stands in data-theme.
  std::string style = ":root{" + light + "}\n@media(prefers-color-scheme:dark){:root:not([data-theme=light]){" + dark +
                      "}}\n:root[data-theme=dark]{" + dark +
                      "color-scheme:dark}:root[data-theme=light]{color-scheme:light}\n@media print{:root:root:root{" + light + "}}\n";
  for (size_t i = 0; i < palette_size; ++i) style += fmt::format(".s{0}{{--c:var(--c{0})}}", i);
  return style + std::string(sheet);
}

std::string report_script() {
  std::string script = "const deepgapMarkers=[";
  for (const std::string_view path : marker_paths()) script += fmt::format("\"{}\",", path);
  script += "];\n";
  for (const auto& [name, text] : packed_explore()) script += text;
  return script;
}

}  // namespace deepgap
