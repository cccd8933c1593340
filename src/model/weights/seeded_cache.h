// Keeps what seed_weights measured, one safetensors file per (recipe, structure of the Graph, seed). Used by seeded.cpp. Any number of
// processes may use one folder: files appear whole, and two that make the same file make the same bytes. A cache that cannot be read or
// written costs time and nothing else.
#pragma once

#include <deepgap/graph.h>

#include <cstdint>
#include <map>
#include <string>

namespace deepgap {

class SeededCache {
 public:
  // `graph` before its weights are filled; an empty folder name means no cache.
  SeededCache(const std::string& folder, const Graph& graph, uint64_t seed);
  std::map<std::string, Tensor> load() const;  // empty when there is nothing fit to use
  void store(const std::map<std::string, Tensor>& tensors) const;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace deepgap
