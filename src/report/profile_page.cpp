#include "report/profile_page.h"

#include "base/quantity.h"
#include "base/text.h"
#include "ceilings/data_sheet.h"
#include "kernels/families.h"
#include "kernels/summary.h"
#include "profile/explanations.h"
#include "profile/work_table.h"
#include "report/counted_section.h"
#include "report/html.h"
#include "report/page.h"
#include "report/roofline_chart.h"
#include "report/timeline_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace deepgap {
namespace {

constexpr size_t most_distances = 12, most_kernels = 25;

constexpr std::string_view own_style = R"css(
figure.roofline{max-width:790px}
figure.roofline svg{min-width:560px}
.roof{fill:none;stroke:var(--axis);stroke-width:1.6}
.roof.faint{stroke-dasharray:3 4;stroke-width:1.2}
.roof-name{font-size:11.5px;fill:var(--soft);stroke:var(--page);stroke-width:3px;paint-order:stroke}
.dot{fill-opacity:.42;stroke-width:1.4}.dot.small{fill-opacity:.8;stroke-width:0}
.dot:hover{fill-opacity:.8}
.ring{fill:var(--page);stroke:var(--c);stroke-width:1.6}.reach{fill:none;stroke:var(--c);stroke-width:1;stroke-dasharray:2 3}
.timeline{max-width:none}
.timeline .row{font-size:12px;fill:var(--muted)}
.timeline .bar rect{stroke:var(--page);stroke-width:.4}
.timeline .bar text{font-size:11px;fill:var(--page)}
.timeline .layer rect{fill:var(--soft)}.timeline .copy rect{fill:var(--warn)}.timeline .call rect{fill:var(--axis)}
.timeline .call text{fill:var(--ink)}
.s0{--c:var(--c0)}.s1{--c:var(--c1)}.s2{--c:var(--c2)}.s3{--c:var(--c3)}.s4{--c:var(--c4)}.s5{--c:var(--c5)}.s6{--c:var(--c6)}.s7{--c:var(--c7)}
.dot,.timeline .bar[class*=" s"] rect{fill:var(--c);stroke:var(--c)}.timeline .bar[class*=" s"] rect{stroke:var(--page)}
svg.timeline{width:auto;max-width:none}
.chip{display:inline-block;width:11px;height:11px;background:var(--c);margin-right:6px}
main>.aside{margin-top:14px}details{margin:14px 0}summary{cursor:pointer;font-size:15px}
@media print{.scroll{overflow:visible}svg.timeline{width:100%!important}details{display:block}details>*{display:block}}
)css";

std::string ms(double seconds) { return fmt::format("{:.3f}", seconds * 1e3); }
std::string cell(const std::string& text) { return "<td>" + html_escaped(text) + "</td>"; }
std::string number(const std::string& text) { return "<td class=\"num\">" + html_escaped(text) + "</td>"; }
std::string heading(const std::string& text, bool is_number) {
  return fmt::format("<th{}>{}</th>", is_number ? " class=\"num\"" : "", html_escaped(text));
}

// Work of several layers together.
struct Work {
  double flop = 0, bytes = 0, seconds = 0;
  int layers = 0;
};

class Page {
 public:
  Page(const ProfileHeader& header, const LayerProfile& profile, const ProfileRows& rows, const ShownCeilings& machine)
      : header_(header),
        profile_(profile),
        rows_(rows),
        machine_(machine),
        table_(work_table(profile, machine.ceilings, header.precision)) {
    if (profile.trace)
      for (const FamilyTime& family : summary_of(*profile.trace).families) families_.push_back(family.family);
  }

  std::string html() const {
    const std::string title = fmt::format("{} on {}", header_.model, where());
    PageParts parts;
    parts.eyebrow = "deepgap profile";
    parts.title = title;
    parts.lede = lede();
    parts.sections =
        says() + roofline() + timeline() + distances() + families() + counted_section(profile_, table_) + kernels() + ceilings();
    parts.footer = std::string(". Bytes and operations of layers are counted from the network's graph") +
                   (table_.counted ? ", those of kernels and families by the hardware" : ", not by the hardware");
    parts.own_style = own_style;
    return html_page(parts);
  }

  // Returns the short form: what is read first.
  std::string part() const {
    std::string out = whole_line();
    const std::string picture = families_picture();
    if (!picture.empty()) out += "<figure class=\"roofline scroll\">" + picture + "</figure>\n";
    if (picture.empty() && !machine_.missing.empty())
      out += "<p class=\"aside\">This machine has no measured peaks to draw: " + html_escaped(machine_.missing) + ".</p>\n";
    if (table_.counted)
      out += counted_table(profile_, table_);
    else if (profile_.layers.empty() && profile_.trace)
      out += families_table();
    return out + says_list();
  }

 private:
  std::string whole_line() const {
    const std::string begin = fmt::format("<p>{}: {} ms a ", html_escaped(profile_.engine), ms(rows_.whole_seconds));
    if (profile_.layers.empty()) return begin + "step of training, whose layers no engine times one by one.</p>\n";
    const double between = rows_.whole_seconds > 0 ? rows_.between_seconds / rows_.whole_seconds : 0;
    const std::string reach =
        rows_.all.of_roof ? fmt::format("; layers reach {} of what the measured peaks allow", share_text(*rows_.all.of_roof)) : "";
    return begin + fmt::format("batch, {} of it between layers{}.</p>\n", share_text(between), reach);
  }
  std::string where() const {
    if (machine_.ceilings.gpu) return machine_.ceilings.gpu->device;
    return header_.device == "cpu" ? fmt::format("{} thread{} of this CPU", header_.threads, header_.threads == 1 ? "" : "s")
                                   : header_.device;
  }
  std::string lede() const {
    const double items = rows_.whole_seconds > 0 ? static_cast<double>(header_.batch) / rows_.whole_seconds : 0;
    std::string out = fmt::format("<p class=\"lede\">{}, {}, batch {}: {} ms a batch, {} items/s.</p>\n<dl class=\"stats\">",
                                  html_escaped(profile_.engine), html_escaped(header_.precision), header_.batch, ms(rows_.whole_seconds),
                                  significant_text(items, 4));
    const auto stat = [&](const std::string& value, const std::string& name) {
      out += fmt::format("<div><dt>{}</dt><dd>{}</dd></div>", name, value);
    };
    if (rows_.all.of_roof) stat(share_text(*rows_.all.of_roof), "of what the measured peaks allow");
    stat(std::to_string(rows_.all.layers), "layers");
    if (profile_.trace) {
      const TraceSummary summary = summary_of(*profile_.trace);
      stat(std::to_string(profile_.trace->kernels.size()), "kernels");
      if (summary.span > 0)
        stat(share_text(static_cast<double>(summary.busy) / static_cast<double>(summary.span)), "of the time the device works");
    }
    return out + "</dl>\n";
  }

  std::string says_list() const {
    const auto all = explain(header_, profile_, rows_, machine_);
    if (all.empty()) return {};
    std::string out = fmt::format("<ul class=\"says\" style=\"--n:{}\">", std::min<size_t>(all.size(), 3));
    for (const Explanation& one : all)
      out += "<li class=\"result\"><p class=\"head\">" + html_escaped(one.head) + ".</p><p class=\"detail\">" + html_escaped(one.evidence) +
             ".</p></li>";
    return out + "</ul>\n";
  }
  std::string says() const {
    std::string out = says_list();
    if (!out.empty()) out = "<h2>Why</h2>\n" + out;
    for (const std::string& note : rows_.notes) out += "<p class=\"aside\">Note: " + html_escaped(note) + ".</p>\n";
    return out;
  }

  RooflineChart empty_chart(const std::string& describe) const {
    RooflineChart chart{.describe = describe};
    const Ceilings& ceilings = machine_.ceilings;
    chart.slopes.push_back({ceilings.gpu ? "DRAM" : "memory", ceilings.memory.back().bytes_per_s()});
    if (ceilings.gpu) {
      chart.slopes.push_back({"L2", bandwidth_bytes_per_s(ceilings, 0)});
      if (ceilings.gpu->l1_bytes_per_s > 0) chart.slopes.push_back({"L1", ceilings.gpu->l1_bytes_per_s});
    } else {
      chart.slopes.push_back({"caches", bandwidth_bytes_per_s(ceilings, 0)});
    }
    std::map<std::string, double> best;
    for (const ComputeCeiling& compute : ceilings.compute) best[compute.precision] = std::max(best[compute.precision], compute.flop_per_s);
    const std::string own = peak_of(ceilings, header_.precision)->precision;
    for (const auto& [precision, rate] : best)
      if (precision == "fp32" || precision == own) chart.peaks.push_back({precision, rate});
    const auto sheet = ceilings.gpu ? data_sheet_of(ceilings.gpu->device) : std::nullopt;
    if (sheet && sheet->flop_per_s.contains(own)) chart.peaks.push_back({own + ", data sheet", sheet->flop_per_s.at(own), true});
    return chart;
  }
  RooflineDot dot(const std::string& name, const Work& work, double whole, int style) const {
    RooflineDot made{.name = name, .style = style};
    made.intensity = work.bytes > 0 ? work.flop / work.bytes : 0;
    made.flop_per_s = work.seconds > 0 ? work.flop / work.seconds : 0;
    made.share = whole > 0 ? work.seconds / whole : 0;
    made.tip =
        fmt::format("{}\n{} ms, {} of the layers\n{:.2f} FLOP a byte, {:.1f} GFLOP/s, {:.1f} GB/s", name, ms(work.seconds),
                    share_text(made.share), made.intensity, made.flop_per_s / 1e9, work.seconds > 0 ? work.bytes / work.seconds / 1e9 : 0);
    return made;
  }
  bool has_ceilings() const { return !machine_.ceilings.memory.empty() && peak_of(machine_.ceilings, header_.precision) != nullptr; }

  std::string layers_picture() const {
    RooflineChart layers = empty_chart("Roofline with a dot for each layer");
    for (const ProfiledLayer& layer : profile_.layers) {
      if (layer.flop < 0 || layer.ns <= 0) continue;
      RooflineDot small = dot(layer.name, work_of(layer), rows_.all.seconds, 0);
      small.share = -1;
      small.labelled = false;
      layers.dots.push_back(small);
    }
    return roofline_svg(layers);
  }
  static Work work_of(const ProfiledLayer& layer) {
    return {static_cast<double>(layer.flop), static_cast<double>(layer.bytes), static_cast<double>(layer.ns) / 1e9, 1};
  }
  // Colours as in the timeline; what has none there has one behind them.
  int style_of(const WorkRow& family) const {
    const auto traced = std::find(families_.begin(), families_.end(), family.name);
    if (traced != families_.end()) return static_cast<int>(traced - families_.begin());
    return static_cast<int>(families_.size()) + static_cast<int>(&family - table_.families.data());
  }
  std::string families_picture() const {
    if (!has_ceilings()) return {};
    const auto of = [](const WorkRow& row) { return Work{row.all_flop().value_or(0), row.bytes.value_or(0), row.seconds, row.kernels}; };
    RooflineChart groups = empty_chart("Roofline with a bubble for each family, whose area is its share of time");
    double all = 0;
    for (const WorkRow& row : table_.families) all += row.seconds;
    for (const WorkRow& row : table_.families) groups.dots.push_back(dot(row.name, of(row), all, style_of(row)));
    RooflineDot whole = dot("network", of(table_.network), all, 7);
    whole.share = -1;
    groups.dots.push_back(whole);
    return roofline_svg(groups);
  }
  // Families that take some of the time and the network, by the bytes of each level that was counted.
  std::string levels_picture() const {
    constexpr double worth_drawing = 0.05;
    if (counted_levels(table_).size() < 2) return {};
    RooflineChart chart =
        empty_chart("Roofline by level of memory: for each family a dot at DRAM's bytes and rings at those of the caches");
    const auto add = [&](const WorkRow& row, int style) {
      if (!row.bytes || *row.bytes <= 0) return;
      RooflineDot made = dot(row.name, {row.all_flop().value_or(0), *row.bytes, row.seconds, row.kernels}, row.seconds, style);
      made.share = -1;
      for (const MemoryLevel& level : row.levels)
        if (level.name != "DRAM" && level.intensity) made.nearer.emplace_back(level.name, *level.intensity);
      chart.dots.push_back(std::move(made));
    };
    for (const WorkRow& row : table_.families)
      if (row.share >= worth_drawing) add(row, style_of(row));
    add(table_.network, 7);
    return roofline_svg(chart);
  }
  std::string roofline() const {
    if (!has_ceilings())
      return machine_.missing.empty()
                 ? std::string()
                 : "<h2>Roofline</h2><p>This machine has no measured peaks to draw: " + html_escaped(machine_.missing) + ".</p>\n";
    const std::string picture = families_picture(), each = layers_picture(), nearer = levels_picture();
    if (picture.empty()) return {};
    std::string out = fmt::format(
        "<h2>Roofline</h2>\n<p class=\"aside\">A bubble is a family of {}; its area is its share of their time. {} Measured peaks are "
        "drawn solid, those of a data sheet dotted.</p>\n",
        table_.counted ? "kernels" : "layers",
        table_.counted ? "Bytes of DRAM and operations, tensor cores' among them, are counted by the hardware."
                       : "Bytes and operations are counted from the network: each value is moved once, multiply and add are two.");
    out += "<figure class=\"roofline scroll\">" + picture + "</figure>\n";
    if (!nearer.empty())
      out +=
          "<p class=\"aside\">The same by level of memory. A dot stands where the bytes of DRAM put it, its rings where those of L2 and L1 "
          "do. Compare each with the slope of its name.</p>\n<figure class=\"roofline scroll\">" +
          nearer + "</figure>\n";
    if (!each.empty())
      out += "<details><summary>Each layer as a dot</summary><figure class=\"roofline scroll\">" + each + "</figure></details>\n";
    return out;
  }

  std::string timeline() const {
    if (!profile_.trace)
      return profile_.trace_missing.empty()
                 ? std::string()
                 : "<h2>Timeline</h2><p>Kernels are not available: " + html_escaped(profile_.trace_missing) + ".</p>\n";
    const std::string picture = timeline_svg(*profile_.trace, families_);
    if (picture.empty()) return {};
    std::string out = "<h2>Timeline of one batch</h2>\n<ul class=\"legend\">";
    for (size_t i = 0; i < families_.size(); ++i)
      out += fmt::format("<li><span><span class=\"chip s{}\"></span>{}</span></li>", i % 8, html_escaped(families_[i]));
    return out + "</ul>\n<div class=\"scroll\">" + picture + "</div>\n";
  }

  std::string distances() const {
    const auto all = largest_distances(rows_, most_distances);
    if (all.empty()) return {};
    std::string out =
        "<h2>Furthest from their bound</h2>\n<p class=\"aside\">Gain of the whole network if the layer reached what the measured peaks "
        "allow.</p>\n<div class=\"scroll\"><table><tr>" +
        heading("layer", false) + heading("operators", false) + heading("ms", true) + heading("bound, ms", true) + heading("by", false) +
        heading("gain, ms", true) + heading("of the whole", true) + "</tr>\n";
    for (const Distance& distance : all) {
      const ProfileRow& row = rows_.layers[distance.layer];
      out += "<tr>" + cell(shortened(row.name, 60)) + cell(shortened(row.operators, 40)) + number(ms(row.seconds)) +
             number(ms(*row.roof_seconds)) + cell(row.bound) + number(ms(distance.seconds)) + number(share_text(distance.share)) +
             "</tr>\n";
    }
    return out + "</table></div>\n";
  }

  std::string families() const {
    return fmt::format("<h2>By {}</h2>\n", profile_.trace ? "family of kernels" : "operator") + families_table();
  }
  std::string families_table() const {
    const bool traced = profile_.trace.has_value();
    std::string out = "<div class=\"scroll\"><table><tr>";
    out += heading(traced ? "family" : "operator", false) + heading(traced ? "kernels" : "layers", true) + heading("ms", true) +
           heading("share", true) + "</tr>\n";
    const auto row = [&](const std::string& name, int count, double seconds, double share) {
      out += "<tr>" + cell(name) + number(std::to_string(count)) + number(ms(seconds)) + number(share_text(share)) + "</tr>\n";
    };
    if (traced) {
      const TraceSummary summary = summary_of(*profile_.trace);
      for (const FamilyTime& family : summary.families)
        row(family.family, family.kernels, static_cast<double>(family.ns) / 1e9,
            summary.kernel_ns > 0 ? static_cast<double>(family.ns) / static_cast<double>(summary.kernel_ns) : 0);
    } else {
      for (const ProfileRow& group : rows_.groups) row(group.name, group.layers, group.seconds, group.share);
    }
    return out + "</table></div>\n";
  }

  std::string kernels() const {
    if (!profile_.trace || profile_.trace->kernels.empty()) return {};
    const Trace& trace = *profile_.trace;
    std::vector<const Kernel*> order;
    for (const Kernel& kernel : trace.kernels) order.push_back(&kernel);
    std::stable_sort(order.begin(), order.end(), [](const Kernel* a, const Kernel* b) { return a->ns() > b->ns(); });
    order.resize(std::min(order.size(), most_kernels));
    std::string out = fmt::format("<details><summary>The {} slowest of {} kernels</summary><div class=\"scroll\"><table><tr>", order.size(),
                                  trace.kernels.size());
    out += heading("kernel", false) + heading("family", false) + heading("us", true) + heading("grid", false) + heading("block", true) +
           heading("registers", true) + heading("shared", true) + heading("layer", false) + "</tr>\n";
    for (const Kernel* k : order)
      out += "<tr>" + cell(shortened(short_kernel_name(k->name), 60)) + cell(k->family) +
             number(fmt::format("{:.1f}", static_cast<double>(k->ns()) / 1e3)) +
             cell(fmt::format("{}x{}x{}", k->grid[0], k->grid[1], k->grid[2])) +
             number(std::to_string(k->block[0] * k->block[1] * k->block[2])) + number(std::to_string(k->registers)) +
             number(format_bytes(static_cast<double>(k->shared_bytes))) +
             cell(k->layer < 0 ? "" : shortened(trace.layers[static_cast<size_t>(k->layer)].name, 50)) + "</tr>\n";
    return out + "</table></div></details>\n";
  }

  std::string ceilings() const {
    const Ceilings& ceilings = machine_.ceilings;
    if (ceilings.compute.empty()) return {};
    const auto sheet = ceilings.gpu ? data_sheet_of(ceilings.gpu->device) : std::nullopt;
    std::string out = "<h2>Measured peaks</h2>\n<div class=\"scroll\"><table><tr>" + heading("measured", false) + heading("best", true) +
                      heading("sustained", true) + heading("data sheet", true) + "</tr>\n";
    const auto scaled = [](double value, const char* unit) {
      if (value <= 0) return std::string("-");
      return value >= 1e12 ? fmt::format("{:.2f} T{}", value / 1e12, unit) : fmt::format("{:.1f} G{}", value / 1e9, unit);
    };
    for (const ComputeCeiling& compute : ceilings.compute) {
      double said = 0;
      if (sheet && peak_of(ceilings, compute.precision) == &compute && sheet->flop_per_s.contains(compute.precision))
        said = sheet->flop_per_s.at(compute.precision);
      out += "<tr>" + cell(compute.precision + " " + compute.kernel) + number(scaled(compute.flop_per_s, "FLOP/s")) +
             number(scaled(compute.sustained ? compute.sustained->per_s : 0, "FLOP/s")) + number(scaled(said, "FLOP/s")) + "</tr>\n";
    }
    for (const MemoryCeiling& memory : ceilings.memory)
      out += "<tr>" + cell("through " + format_bytes(static_cast<double>(memory.footprint_bytes))) +
             number(scaled(memory.bytes_per_s(), "B/s")) + number(scaled(memory.sustained ? memory.sustained->per_s : 0, "B/s")) +
             number(scaled(sheet && &memory == &ceilings.memory.back() ? sheet->memory_bytes_per_s : 0, "B/s")) + "</tr>\n";
    out += "</table></div>\n";
    if (sheet) out += "<p class=\"aside\">Data sheet: " + html_escaped(sheet->source) + ".</p>\n";
    return out;
  }

  const ProfileHeader& header_;
  const LayerProfile& profile_;
  const ProfileRows& rows_;
  const ShownCeilings& machine_;
  WorkTable table_;
  std::vector<std::string> families_;
};

}  // namespace

std::string_view profile_style() { return own_style; }

std::string profile_part(const ProfileHeader& header, const LayerProfile& profile, const ProfileRows& rows, const ShownCeilings& machine) {
  return Page(header, profile, rows, machine).part();
}

std::string profile_page(const ProfileHeader& header, const LayerProfile& profile, const ProfileRows& rows, const ShownCeilings& machine) {
  return Page(header, profile, rows, machine).html();
}

}  // namespace deepgap
