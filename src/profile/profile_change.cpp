#include "profile/profile_change.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

namespace deepgap {
namespace {

// Sets of layers, joined while nodes are seen in both.
class Joined {
 public:
  explicit Joined(size_t layers) : parent_(layers) { std::iota(parent_.begin(), parent_.end(), size_t{0}); }
  size_t root(size_t layer) {
    while (parent_[layer] != layer) layer = parent_[layer] = parent_[parent_[layer]];
    return layer;
  }
  // The earlier layer names the part.
  void join(size_t a, size_t b) {
    const size_t x = root(a), y = root(b);
    parent_[std::max(x, y)] = std::min(x, y);
  }

 private:
  std::vector<size_t> parent_;
};

std::string name_of_part(const ProfiledLayer& first, int nodes) {
  if (first.nodes.empty()) return "added by the engine";
  return nodes == 1 ? first.nodes.front() : fmt::format("{} and {} more", first.nodes.front(), nodes - 1);
}

double seconds(Nanoseconds ns) { return static_cast<double>(ns) / 1e9; }

}  // namespace

ProfileChange profile_change(const LayerProfile& a, const LayerProfile& b) {
  std::vector<const ProfiledLayer*> layers;
  for (const LayerProfile* profile : {&a, &b}) {
    for (const ProfiledLayer& layer : profile->layers) layers.push_back(&layer);
  }
  Joined joined(layers.size());
  std::map<std::string, size_t> by_node;  // the first layer that has it; of "" those without nodes
  for (size_t i = 0; i < layers.size(); ++i) {
    if (layers[i]->nodes.empty()) joined.join(by_node.try_emplace("", i).first->second, i);
    for (const std::string& node : layers[i]->nodes) joined.join(by_node.try_emplace(node, i).first->second, i);
  }
  std::map<size_t, ProfilePart> parts;
  std::map<size_t, int> nodes;
  for (const auto& [node, layer] : by_node) ++nodes[joined.root(layer)];
  for (size_t i = 0; i < layers.size(); ++i) {
    const size_t root = joined.root(i);
    ProfilePart& part = parts[root];
    if (part.name.empty()) part.name = name_of_part(*layers[root], nodes[root]);
    const bool of_a = i < a.layers.size();
    ++(of_a ? part.layers_a : part.layers_b);
    (of_a ? part.seconds_a : part.seconds_b) += seconds(layers[i]->ns);
  }
  ProfileChange change{{}, seconds(a.whole_ns), seconds(b.whole_ns)};
  for (auto& [root, part] : parts) change.parts.push_back(std::move(part));
  std::stable_sort(change.parts.begin(), change.parts.end(), [](const ProfilePart& x, const ProfilePart& y) {
    return std::abs(x.seconds_b - x.seconds_a) > std::abs(y.seconds_b - y.seconds_a);
  });
  return change;
}

std::string profile_change_text(const ProfileChange& change, const std::string& a, const std::string& b, size_t top) {
  constexpr size_t name_width = 48;
  const auto row = [&](const std::string& name, double before, double after, const std::string& layers) {
    const std::string cut = name.size() > name_width ? name.substr(0, name_width - 2) + ".." : name;
    return fmt::format("  {:<{}} {:>10.3f} {:>10.3f} {:>+10.3f}  {}\n", cut, name_width, before * 1e3, after * 1e3, (after - before) * 1e3,
                       layers);
  };
  std::string text = fmt::format("  {:<{}} {:>10} {:>10} {:>10}  {}\n", fmt::format("ms a batch; a: {}, b: {}", a, b), name_width, "a", "b",
                                 "b - a", "layers");
  text += row("whole", change.whole_a_seconds, change.whole_b_seconds, "");
  for (size_t i = 0; i < change.parts.size() && i < top; ++i) {
    const ProfilePart& part = change.parts[i];
    text += row(part.name, part.seconds_a, part.seconds_b, fmt::format("{} and {}", part.layers_a, part.layers_b));
  }
  if (change.parts.size() > top) text += fmt::format("  and {} more parts\n", change.parts.size() - top);
  return text;
}

}  // namespace deepgap
