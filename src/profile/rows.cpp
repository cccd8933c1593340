#include "profile/rows.h"

#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace deepgap {
namespace {

constexpr double most_between = 0.05;  // share of the whole: beyond it the layers do not explain the time

std::string bound_name(Bound bound, double bytes, int64_t last_cache_bytes) {
  if (bound == Bound::none) return "";
  if (bound == Bound::compute) return "compute";
  return bytes > static_cast<double>(last_cache_bytes) ? "memory" : "cache";
}

ProfileRow row_of(const ProfiledLayer& layer, const Ceilings& ceilings, int64_t last_cache_bytes) {
  ProfileRow row{.name = layer.name, .operators = layer.operators.empty() ? layer.op : join(layer.operators, "+")};
  row.seconds = static_cast<double>(layer.ns) / 1e9;
  if (layer.nodes.empty()) return row;
  const Work work{layer.precision, 2 * static_cast<double>(layer.macs), static_cast<double>(layer.bytes)};
  row.bytes = work.bytes;
  if (row.seconds > 0) row.flop_per_s = static_cast<double>(layer.flop) / row.seconds;
  const Roof roof = roof_of(ceilings, work);
  row.bound = bound_name(roof.bound, work.bytes, last_cache_bytes);
  if (roof.bound == Bound::none) return row;
  row.roof_seconds = roof.seconds;
  if (row.seconds > 0) row.of_roof = roof.seconds / row.seconds;
  return row;
}

// Rates and roofs of a group are those of its layers that have them.
struct Sum {
  ProfileRow row{.layers = 0};
  double flop = 0, flop_seconds = 0, bytes = 0, roof = 0, roof_seconds = 0;
  bool any_bytes = false;

  void add(const ProfileRow& layer) {
    row.layers += layer.layers;
    row.seconds += layer.seconds;
    if (layer.flop_per_s) {
      flop += *layer.flop_per_s * layer.seconds;
      flop_seconds += layer.seconds;
    }
    if (layer.bytes) bytes += *layer.bytes;
    any_bytes = any_bytes || layer.bytes.has_value();
    if (layer.roof_seconds) {
      roof += *layer.roof_seconds;
      roof_seconds += layer.seconds;
    }
  }
  ProfileRow result(double whole) const {
    ProfileRow sum = row;
    sum.share = whole > 0 ? sum.seconds / whole : 0;
    if (flop_seconds > 0) sum.flop_per_s = flop / flop_seconds;
    if (any_bytes) sum.bytes = bytes;
    if (roof_seconds > 0) {
      sum.roof_seconds = roof;
      sum.of_roof = roof / roof_seconds;
    }
    return sum;
  }
};

template <typename Key>
std::vector<std::pair<std::string, Sum>> grouped(const std::vector<ProfileRow>& rows, Key key) {
  std::map<std::string, Sum> sums;
  for (size_t i = 0; i < rows.size(); ++i) sums[key(i)].add(rows[i]);
  std::vector<std::pair<std::string, Sum>> groups(sums.begin(), sums.end());
  std::stable_sort(groups.begin(), groups.end(), [](const auto& a, const auto& b) { return a.second.row.seconds > b.second.row.seconds; });
  return groups;
}

void add_notes(const LayerProfile& profile, const Ceilings& ceilings, const std::string& precision, ProfileRows& rows) {
  const double off = rows.whole_seconds > 0 ? rows.between_seconds / rows.whole_seconds : 0;
  if (!profile.layers.empty() && std::abs(off) > most_between)
    rows.notes.push_back(off > 0
                             ? fmt::format("the layers take {:.1f} % of the time of the whole; the rest is outside them", 100 * (1 - off))
                             : fmt::format("one by one the layers take {:.1f} % of the time of the whole", 100 * (1 - off)));
  if (profile.trace && !profile.times_of_kernels && !profile.layers.empty())
    rows.notes.push_back("the engine timed its layers one by one: on a GPU a small layer takes as long as its launch");
  if (!profile.left_over.empty())
    rows.notes.push_back(fmt::format("no layer contains {} multiplying node{}, such as {}: rates and ratios leave {} out",
                                     profile.left_over.size(), profile.left_over.size() == 1 ? "" : "s", profile.left_over.front(),
                                     profile.left_over.size() == 1 ? "it" : "them"));
  const auto is_own = [&](const ComputeCeiling& ceiling) {
    return ceiling.precision == (precision == "mixed" ? "bf16" : precision) || (precision == "mixed" && ceiling.precision == "fp16");
  };
  if (!ceilings.compute.empty() && std::none_of(ceilings.compute.begin(), ceilings.compute.end(), is_own))
    rows.notes.push_back(fmt::format("this {} has no instruction for {} that was measured: layers are compared with the peak of fp32",
                                     ceilings.gpu ? "GPU" : "CPU", precision));
}

// Returns the time of copies between host and device in a batch while no kernel computes: only that makes the batch longer.
double copied_seconds(const Trace& trace) {
  std::vector<std::pair<Nanoseconds, Nanoseconds>> computing;
  for (const Kernel& kernel : trace.kernels) {
    if (!computing.empty() && kernel.begin <= computing.back().second) {
      computing.back().second = std::max(computing.back().second, kernel.end);
    } else {
      computing.emplace_back(kernel.begin, kernel.end);
    }
  }
  Nanoseconds copied = 0, counted_to = std::numeric_limits<Nanoseconds>::min();
  for (const DeviceCopy& copy : trace.copies) {
    if (copy.what != "host to device" && copy.what != "device to host") continue;
    const Nanoseconds begin = std::max(copy.begin, counted_to);
    if (begin >= copy.end) continue;
    counted_to = copy.end;
    copied += copy.end - begin;
    for (const auto& [from, to] : computing) copied -= std::max<Nanoseconds>(0, std::min(to, copy.end) - std::max(from, begin));
  }
  return static_cast<double>(copied) / 1e9;
}

}  // namespace

std::string share_text(double share) { return fmt::format("{:.1f} %", 100 * share); }

ProfileRows profile_rows(const LayerProfile& profile, const Ceilings& ceilings, const std::string& precision, int64_t last_cache_bytes) {
  if (ceilings.gpu) last_cache_bytes = ceilings.gpu->cache_bytes;
  ProfileRows rows;
  rows.whole_seconds = static_cast<double>(profile.whole_ns) / 1e9;
  Sum all;
  for (const ProfiledLayer& layer : profile.layers) {
    rows.layers.push_back(row_of(layer, ceilings, last_cache_bytes));
    rows.layers.back().share = rows.whole_seconds > 0 ? rows.layers.back().seconds / rows.whole_seconds : 0;
    all.add(rows.layers.back());
  }
  rows.all = all.result(rows.whole_seconds);
  rows.between_seconds = rows.whole_seconds - rows.all.seconds;
  if (profile.trace) rows.copied_seconds = std::clamp(copied_seconds(*profile.trace), 0.0, std::max(rows.between_seconds, 0.0));
  for (const auto& [op, sum] : grouped(rows.layers, [&](size_t i) { return profile.layers[i].op; })) {
    rows.groups.push_back(sum.result(rows.whole_seconds));
    rows.groups.back().name = op;
  }
  for (const auto& [bound, sum] : grouped(rows.layers, [&](size_t i) { return rows.layers[i].bound; }))
    if (rows.all.seconds > 0) rows.bounds.emplace_back(bound, sum.row.seconds / rows.all.seconds);
  add_notes(profile, ceilings, precision, rows);
  return rows;
}

}  // namespace deepgap
