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

std::string header_section(const View& view, const ReportOptions& options, const std::string& contents) {
  const Results& results = view.results;
  const auto count = [&](auto which) { return static_cast<size_t>(std::count_if(results.points.begin(), results.points.end(), which)); };
  const size_t usable = count([](const PointSummary& p) { return p.usable(); });
  const size_t unstable = count([](const PointSummary& p) { return p.usable() && p.verdict == Verdict::unstable; });
  std::string html = fmt::format("<header><p class=\"eyebrow\">deepgap report</p><h1>{}</h1><p class=\"lede\">{}</p>",
                                 html_escaped(options.title), html_escaped(lede(results)));
  html += "<dl class=\"stats\">" + stat("records", static_cast<size_t>(results.records)) + stat("points", results.points.size()) +
          stat("with a usable value", usable) + stat("of them unstable", unstable) + stat("without one", results.points.size() - usable) +
          "</dl>";
  return html + "<nav aria-label=\"Contents\">" + contents + "</nav></header>";
}

}  // namespace deepgap
