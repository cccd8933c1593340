// Reports what several sessions bring: instances on a device, devices in a process, processes.
#include "analysis/comparison.h"
#include "analysis/finding.h"
#include "analysis/one_change.h"
#include "analysis/words.h"
#include "base/text.h"
#include "record/point_option.h"
#include "record/record_json.h"
#include "stats/multiple.h"

#include <fmt/format.h>

#include <algorithm>

namespace deepgap {
namespace {

int64_t instances_of(const Point& point) { return parse_int(option_of(point, "instances")).value_or(1); }

int64_t devices_of(const Point& point) { return static_cast<int64_t>(point.placement.devices.size()); }

bool is_one_session(const Point& point) { return instances_of(point) == 1 && devices_of(point) == 1 && point.placement.processes == 1; }

// "2 devices in one process", "2 processes", "4 sessions on a device", "cuda:1 alone"
std::string place_words(const Point& point) {
  if (is_one_session(point)) return placement_name(point.placement) + " alone";
  std::vector<std::string> words;
  if (instances_of(point) > 1 || devices_of(point) == 1)
    words.push_back(count_of(instances_of(point), "session", "sessions") + " on a device");
  if (point.placement.processes > 1) {
    words.push_back(fmt::format("{} processes", point.placement.processes));
  } else if (devices_of(point) > 1) {
    words.push_back(fmt::format("{} devices in one process", devices_of(point)));
  }
  return join(words, ", ");
}

void forget_place(Point& point) {
  DeviceId kind;
  kind.kind = point.placement.devices.empty() ? "" : point.placement.devices.front().kind;
  point.placement = {1, {kind}};
  point.options.erase("instances");
}

// Names the lines that might as well be the fastest.
std::string not_separable(const std::vector<const Line*>& lines, const Line& best, const Line& one) {
  std::vector<std::string> others;
  for (const Line* line : lines) {
    const auto gain = line == &best || line == &one
                          ? std::nullopt
                          : compare_points(*best.peak(), *line->peak(), "throughput", confidence_of_best(lines.size()));
    if (gain && !gain->separable()) others.push_back(place_words(line->key));
  }
  if (others.empty()) return {};
  return "The fastest does not differ significantly from " + join(others, ", ") + ".";
}

std::string sentence(const Line& line, const Line& one) {
  const auto gain = compare_points(*line.peak(), *one.peak(), "throughput");
  if (!gain) return {};
  std::string words = fmt::format("{}: {}", place_words(line.key), comparison_words(*gain, "one session"));
  const auto devices = static_cast<double>(devices_of(line.key));
  if (devices > 1) {
    const auto interval =
        gain->interval ? std::optional(Interval{gain->interval->low / devices, gain->interval->high / devices}) : std::nullopt;
    words += fmt::format(", a scaling efficiency of {}", format_ratio(gain->ratio / devices, interval));
  }
  return words + ".";
}

Statement instances_statement(const Workload& workload, const std::vector<const Line*>& lines, const Line& one) {
  const auto throughput = [](const Line* line) { return line->peak()->find("throughput")->estimate.value; };
  const Line& best = **std::max_element(lines.begin(), lines.end(), [&](auto* a, auto* b) { return throughput(a) < throughput(b); });
  Statement statement;
  statement.headline = fmt::format("{}, {}: fastest with {}", workload.label, label_without_device(one), place_words(best.key));
  statement.points = {best.peak()};
  std::vector<std::string> sentences;
  for (const Line* line : lines) {
    if (line == &one) continue;
    if (line != &best) statement.points.push_back(line->peak());
    if (const std::string words = sentence(*line, one); !words.empty()) sentences.push_back(words);
  }
  if (const std::string words = not_separable(lines, best, one); !words.empty()) sentences.push_back(words);
  statement.detail = join(sentences, " ");
  if (&best != &one) statement.points.push_back(one.peak());
  return statement;
}

std::vector<Statement> find_instances(const Evidence& evidence) {
  std::vector<Statement> statements;
  for (const Workload& workload : evidence.workloads) {
    for (auto lines : lines_alike_but(workload, forget_place)) {
      lines.erase(std::remove_if(lines.begin(), lines.end(), [](const Line* line) { return line->peak() == nullptr; }), lines.end());
      const auto one = std::find_if(lines.begin(), lines.end(), [](const Line* line) { return is_one_session(line->key); });
      if (lines.size() > 1 && one != lines.end()) statements.push_back(instances_statement(workload, lines, **one));
    }
  }
  return statements;
}

const bool registered = register_finding({"instances", 51, find_instances,
                                          "Lines that differ only in devices, processes and instances: the peak throughput of each against "
                                          "that of one session on one device. Efficiency is that ratio divided by the ratio of devices."});

}  // namespace
}  // namespace deepgap
