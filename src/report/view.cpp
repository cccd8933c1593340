#include "report/view.h"

#include "analysis/metric.h"
#include "analysis/words.h"
#include "base/text.h"
#include "record/duel_set.h"
#include "record/record_json.h"
#include "record/tenant_set.h"
#include "report/html.h"
#include "report/palette.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace deepgap {
namespace {

std::string device_text(const PointSummary& point) {
  return point.identity.device.empty() ? placement_name(point.point.placement) : point.identity.device;
}

// A property of a Point that is a column only where it differs.
struct Property {
  const char* name;
  bool numeric;
  std::string (*text)(const PointSummary&);
};

constexpr Property properties[] = {
    {"task", false, [](const PointSummary& p) { return std::string(name_of(p.point.task)); }},
    {"device", false, [](const PointSummary& p) { return device_text(p); }},
    {"placement", false, [](const PointSummary& p) { return p.identity.device.empty() ? "" : placement_name(p.point.placement); }},
    {"precision", false, [](const PointSummary& p) { return std::string(name_of(p.point.precision)); }},
    {"scenario", false, [](const PointSummary& p) { return p.point.scenario; }},
    {"threads", true, [](const PointSummary& p) { return std::to_string(p.point.threads); }},
    {"weights", false, [](const PointSummary& p) { return p.point.weights; }},
    {"dataset", false, [](const PointSummary& p) { return p.point.dataset; }},
    {"tenant", false, [](const PointSummary& p) { return p.tenant; }},
};

// The metrics that have a column of the table, in its order; all others are in the export.
std::vector<const Metric*> column_metrics() {
  std::vector<const Metric*> metrics;
  for (const Metric& metric : all_metrics())
    if (metric.column.order > 0) metrics.push_back(&metric);
  std::sort(metrics.begin(), metrics.end(), [](const Metric* a, const Metric* b) { return a->column.order < b->column.order; });
  return metrics;
}

// "latency_p50_ms" -> "latency p50"
std::string title_of(const Metric& metric) {
  std::string title = metric.id;
  for (const std::string suffix : {"_per_s", "_ms", "_mib", "_s"}) {
    if (title.ends_with(suffix) && suffix == "_per_s") break;  // a rate is not named after its unit alone
    if (title.size() > suffix.size() && title.compare(title.size() - suffix.size(), suffix.size(), suffix) == 0) {
      title.resize(title.size() - suffix.size());
      break;
    }
  }
  std::replace(title.begin(), title.end(), '_', ' ');
  return title;
}

Column text_column(const std::string& title, std::function<std::string(const PointSummary&)> text) {
  return {title, {}, false, std::move(text), nullptr, nullptr};
}

Column property_column(const Property& property) {
  Column column = text_column(property.name, property.text);
  column.numeric = property.numeric;
  if (property.numeric) column.sort = [property](const PointSummary& p) { return std::atof(property.text(p).c_str()); };
  return column;
}

Column metric_column(const Metric& metric, const std::string& currency) {
  const std::string id = metric.id;
  Column column{title_of(metric), metric.is_money() ? unit_text(metric, currency) : metric.unit, true, nullptr, nullptr, nullptr};
  if (metric.column.is_main) column.place = ColumnPlace::main;
  column.text = [id](const PointSummary& p) {
    const MetricSummary* found = p.find(id);
    return found == nullptr ? std::string() : format_estimate(found->estimate);
  };
  column.small = [id](const PointSummary& p) {
    const MetricSummary* found = p.find(id);
    return found == nullptr ? std::string() : format_interval(*found);
  };
  column.sort = [id](const PointSummary& p) {
    const MetricSummary* found = p.find(id);
    return found == nullptr ? std::numeric_limits<double>::quiet_NaN() : found->estimate.value;
  };
  return column;
}

std::string check_text(const PointSummary& point) {
  if (point.unchecked) return "unchecked";
  if (!point.check) return "";
  std::string text = point.check->pass ? "" : "failed, ";
  text += point.check->sqnr_db >= 300 ? "equal" : format_significant(point.check->sqnr_db) + " dB";
  if (!point.check->pass && point.check->min_sqnr_db) text += " (at least " + format_significant(*point.check->min_sqnr_db) + " dB)";
  return text;
}

std::string top1_text(const PointSummary& point) {
  if (!point.check || !point.check->top1_agreement) return "";
  return "top-1 " + format_percent(*point.check->top1_agreement);
}

std::string verdict_text(const PointSummary& point) {
  return std::string(point.outcome == Outcome::ok ? name_of(point.verdict) : name_of(point.outcome));
}

// MLPerf's figure, where some Point has several devices.
void add_per_device_column(const Results& results, const Metric& throughput, std::vector<Column>& columns) {
  const auto devices = [](const PointSummary& p) { return static_cast<double>(p.point.placement.devices.size()); };
  if (std::none_of(results.points.begin(), results.points.end(), [&](const PointSummary& p) { return devices(p) > 1; })) return;
  const auto value = [devices](const PointSummary& p) {
    const MetricSummary* found = p.find("throughput");
    return found == nullptr ? std::numeric_limits<double>::quiet_NaN() : found->estimate.value / devices(p);
  };
  columns.push_back({"per device", throughput.unit, true,
                     [value](const PointSummary& p) { return std::isnan(value(p)) ? std::string() : format_significant(value(p), 4); },
                     nullptr, value});
}

void add_result_columns(const Results& results, std::vector<Column>& columns) {
  for (const Metric* metric : column_metrics()) {
    const bool present =
        std::any_of(results.points.begin(), results.points.end(), [&](const PointSummary& p) { return p.find(metric->id) != nullptr; });
    if (!present) continue;
    columns.push_back(metric_column(*metric, results.currency));
    if (metric->id == "throughput") add_per_device_column(results, *metric, columns);
  }
  columns.push_back(
      {"repeats",
       {},
       true,
       [](const PointSummary& p) { return p.used == p.records ? std::to_string(p.used) : fmt::format("{} of {}", p.used, p.records); },
       [](const PointSummary& p) { return p.node_count() < 2 ? std::string() : fmt::format("{} nodes", p.node_count()); },
       [](const PointSummary& p) { return static_cast<double>(p.used); }});
  if (std::any_of(results.points.begin(), results.points.end(), [](const PointSummary& p) { return p.annotations != Annotations(); })) {
    columns.push_back(text_column("tags", [](const PointSummary& p) {
      return list_of({p.annotations.tags.begin(), p.annotations.tags.end()});
    }));
    columns.back().small = [](const PointSummary& p) { return join({p.annotations.notes.begin(), p.annotations.notes.end()}, "; "); };
  }
  columns.push_back(text_column("check", check_text));
  columns.back().small = top1_text;
  columns.push_back(text_column("verdict", verdict_text));
  columns.back().small = [](const PointSummary& p) {
    return p.reason.empty() || p.notes.empty() ? p.reason + p.notes : p.reason + "; " + p.notes;
  };
}

// The options that not all Points share; those that they share stand above the table.
void choose_options_column(View& view) {
  const auto& points = view.results.points;
  if (points.empty()) return;
  std::map<std::string, std::string> shared = points[0].point.options;
  for (const PointSummary& point : points) {
    std::erase_if(shared, [&](const auto& option) {
      const auto own = point.point.options.find(option.first);
      return own == point.point.options.end() || own->second != option.second;
    });
  }
  const auto own_options = [shared](const PointSummary& p) {
    Point own = p.point;
    std::erase_if(own.options, [&](const auto& option) { return shared.contains(option.first); });
    return options_text(own);
  };
  if (std::any_of(points.begin(), points.end(), [&](const PointSummary& p) { return !own_options(p).empty(); }))
    view.columns.push_back(text_column("options", own_options));
  Point common;
  common.options = shared;
  if (!shared.empty()) view.constants += (view.constants.empty() ? "options " : ", options ") + options_text(common);
}

void choose_columns(View& view) {
  const auto& points = view.results.points;
  view.columns.push_back(text_column("model", [](const PointSummary& p) { return p.point.model; }));
  view.columns.push_back(text_column("backend", [](const PointSummary& p) { return p.point.backend; }));
  for (const Property& property : properties) {
    const bool varies =
        std::any_of(points.begin(), points.end(), [&](const PointSummary& p) { return property.text(p) != property.text(points[0]); });
    if (varies) {
      view.columns.push_back(property_column(property));
    } else if (!points.empty() && !property.text(points[0]).empty() && property.text(points[0]) != "0") {
      view.constants += (view.constants.empty() ? "" : ", ") + std::string(property.name) + " " + property.text(points[0]);
    }
  }
  choose_options_column(view);
  view.columns.push_back({"batch",
                          {},
                          true,
                          [](const PointSummary& p) { return std::to_string(p.point.batch); },
                          nullptr,
                          [](const PointSummary& p) { return static_cast<double>(p.point.batch); }});
  for (Column& column : view.columns) column.place = ColumnPlace::head;
  add_result_columns(view.results, view.columns);
}

// Rows of one Point on several devices have one point_id.
void choose_anchors(View& view) {
  std::map<std::string, int> used;
  for (const PointSummary* row : view.rows) {
    const int number = ++used[row->point_id];
    view.anchors.emplace(row, fmt::format("p-{}{}", row->point_id, number == 1 ? "" : fmt::format("-{}", number)));
  }
}

void choose_styles(View& view) {
  std::set<std::string> labels;
  for (const Workload& workload : view.workloads) {
    for (const Line& line : workload.lines) {
      if (line.peak() != nullptr) labels.insert(line.label);
    }
  }
  if (labels.size() > palette_size) return;  // each chart then has its own
  for (const std::string& label : labels) view.styles.emplace(label, static_cast<int>(view.styles.size()));
}

}  // namespace

View make_view(const Results& results) {
  View view{results, arrange(results.points), {}, {}, {}, {}, {}, {}, {}};
  view.findings = all_findings({results, view.workloads});
  for (const Workload& workload : view.workloads) {
    for (const Line& line : workload.lines) {
      for (const PointSummary* point : line.points) {
        if (view.rows.size() < report_caps.rows) view.rows.push_back(point);
        view.line_labels.emplace(point, line.label);
      }
    }
  }
  for (const PointSummary& point : results.points) {
    if ((tenant_place(point.point) || contender_place(point.point)) && view.rows.size() < report_caps.rows)
      view.rows.push_back(&point);  // they are in no Workload
  }
  choose_anchors(view);
  choose_columns(view);
  choose_styles(view);
  return view;
}

std::string heading_of(const Workload& workload) {
  std::set<std::string> devices;
  for (const Line& line : workload.lines) devices.insert(line.device);
  devices.erase("");
  return devices.size() == 1 ? workload.label + " on " + *devices.begin() : workload.label;
}

std::vector<std::string> point_names(const View& view, const std::vector<const PointSummary*>& points) {
  constexpr size_t longest = 60;
  if (points.size() == 1) return {fmt::format("{} \u00b7 batch {}", points[0]->point.backend, points[0]->point.batch)};
  std::vector<std::string> labels;
  for (const PointSummary* point : points) {
    const auto line = view.line_labels.find(point);
    const std::string way = line != view.line_labels.end()  ? line->second
                            : contender_place(point->point) ? "arm " + contender_name(point->point)
                                                            : tenant_name(point->point);
    labels.push_back(fmt::format("{} \u00b7 {} \u00b7 batch {}", point->point.model, way, point->point.batch));
  }
  std::vector<std::string> names;
  for (const std::string& name : labels_apart(labels)) names.push_back(shortened(name, longest));
  return names;
}

std::vector<ShownLine> shown_lines(const View& view, const Workload& workload, size_t& left_out) {
  std::vector<const Line*> lines;
  for (const Line& line : workload.lines) {
    if (line.peak() != nullptr) lines.push_back(&line);
  }
  left_out = lines.size() > report_caps.lines ? lines.size() - report_caps.lines : 0;
  if (left_out > 0) {
    std::stable_sort(lines.begin(), lines.end(), [](const Line* a, const Line* b) {
      return a->peak()->find("throughput")->estimate.value > b->peak()->find("throughput")->estimate.value;
    });
    lines.resize(report_caps.lines);
  }
  std::vector<ShownLine> shown;
  for (const Line* line : lines) {
    const auto style = view.styles.find(line->label);
    shown.push_back({line, style == view.styles.end() ? static_cast<int>(shown.size()) : style->second});
  }
  return shown;
}

}  // namespace deepgap
