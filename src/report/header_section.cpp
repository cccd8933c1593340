// Title, what was measured, when and where, and how much of it there is.
#include "report/html.h"
#include "report/sections.h"

#include "analysis/words.h"

#include <fmt/format.h>

#include <algorithm>

namespace deepgap {
namespace {

std::string when(const Results& results) {
  std::string first = format_time(results.first_started_unix_ns);
  const std::string last = format_time(results.last_started_unix_ns);
  if (first == last) return first;
  constexpr size_t day = 10;
  if (first.substr(0, day) != last.substr(0, day)) return first + " to " + last;
  return first.substr(0, 16) + " to " + last.substr(day + 1);
}

template <typename Of>
std::vector<std::string> distinct(const std::vector<PointSummary>& points, Of of) {
  std::set<std::string> names;
  for (const PointSummary& point : points) names.insert(of(point));
  return {names.begin(), names.end()};
}

std::string lede(const Results& results) {
  if (results.records == 0) return "This store holds no records yet: nothing was measured.";
  const auto models = distinct(results.points, [](const auto& p) { return p.point.model; });
  const auto backends = distinct(results.points, [](const auto& p) { return p.point.backend; });
  std::string text = fmt::format("{} with {}", list_of(models, 8), list_of(backends, 8));
  std::vector<std::string> devices = distinct(results.points, [](const auto& p) { return p.identity.device; });
  std::erase(devices, "");
  if (devices.empty()) devices = {only_value(results.environment, "cpu.model")};  // a Store of refusals
  if (!devices.front().empty()) text += " on " + list_of(devices, 4);
  return results.first_started_unix_ns == 0 ? text + "." : text + ", measured " + when(results) + ".";
}

std::string stat(const std::string& name, size_t value) {
  return fmt::format("<div><dt>{}</dt><dd>{}</dd></div>", name, format_count(static_cast<int64_t>(value)));
}

}  // namespace

std::string header_section(const View& view, const ReportOptions& options) {
  const Results& results = view.results;
  const auto count = [&](auto which) { return static_cast<size_t>(std::count_if(results.points.begin(), results.points.end(), which)); };
  const size_t usable = count([](const PointSummary& p) { return p.usable(); });
  const size_t unstable = count([](const PointSummary& p) { return p.usable() && p.verdict == Verdict::unstable; });
  std::string html = fmt::format("<header><p class=\"eyebrow\">deepgap report</p><h1>{}</h1><p class=\"lede\">{}</p>",
                                 html_escaped(options.title), html_escaped(lede(results)));
  html += "<dl class=\"stats\">" + stat("records", static_cast<size_t>(results.records)) + stat("points", results.points.size()) +
          stat("with a usable value", usable) + stat("of them unstable", unstable) + stat("without", results.points.size() - usable) +
          "</dl>";
  html += "<nav aria-label=\"Contents\"><a href=\"#summary\">Summary</a>" +
          std::string(has_take_section(view) ? "<a href=\"#take\">Recommendations</a>" : "") + "<a href=\"#pictures\">Charts</a>" +
          std::string(has_devices_section(view) ? "<a href=\"#devices\">Devices</a>" : "") +
          std::string(has_load_section(view) ? "<a href=\"#load\">Load</a>" : "") +
          std::string(has_dispatcher_section(view) ? "<a href=\"#dispatcher\">Batches and queue</a>" : "") +
          std::string(has_stages_section(view) ? "<a href=\"#stages\">End to end</a>" : "") +
          std::string(has_tenants_section(view) ? "<a href=\"#tenants\">Tenants</a>" : "") +
          std::string(has_comparisons_section(view) ? "<a href=\"#comparisons\">Against each other</a>" : "") +
          std::string(has_duels_section(view) ? "<a href=\"#duels\">Interleaved comparisons</a>" : "") +
          std::string(options.sequences.shown.empty() ? "" : "<a href=\"#sequences\">Not valid</a>") +
          std::string(options.profiles.lines.empty() ? "" : "<a href=\"#profiles\">Where the time goes</a>") +
          std::string(over_time_section(options.tracks).empty() ? "" : "<a href=\"#time\">Over time</a>") +
          "<a href=\"#points\">Points</a>"
          "<a href=\"#failures\">Failures and refusals</a><a href=\"#environment\">Environment</a><a href=\"#method\">How the numbers are "
          "made</a></nav>";
  return html + "</header>";
}

}  // namespace deepgap
