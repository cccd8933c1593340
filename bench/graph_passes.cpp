// Measures how long deepgap works on a network before it is compiled: reading the ONNX file, then shapes, folding and fusion as the native
// engine does them (engine/passes), against one read() of the file into new memory. The limit is 1 s beyond that for BERT-large.
//     graph_passes FILE.onnx [BATCH]     (deepgap models bert_large --onnx FILE.onnx)
#include "read_once.h"

#include "engine/cpu/network.h"
#include "model/onnx_reader.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <vector>

namespace deepgap {
namespace {

constexpr int rounds = 7;

// The times of a step in each round.
class Step {
 public:
  explicit Step(std::string name) : name_(std::move(name)) {}
  void run(auto work) {
    const auto begin = std::chrono::steady_clock::now();
    work();
    ms_.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count());
  }
  double last() const { return ms_.back(); }
  void print() {
    std::sort(ms_.begin(), ms_.end());
    fmt::print("{:<44} {:8.1f} ms ({:.1f} to {:.1f})\n", name_, ms_[ms_.size() / 2], ms_.front(), ms_.back());
  }
  void add(double ms) { ms_.push_back(ms); }

 private:
  std::string name_;
  std::vector<double> ms_;
};

void measure(const std::string& path, int64_t batch) {
  Step read("read() into new memory"), load("read_onnx, with the shapes"), unbound("passes that need no batch size"),
      bound("sizes bound, folded and fused"), beyond("all of it beyond the read() (limit 1000)");
  size_t before = 0, after = 0;
  read_once(path);  // the file comes into the cache
  for (int round = 0; round < rounds; ++round) {
    read.run([&] { read_once(path); });
    std::optional<Graph> graph;
    load.run([&] { graph = read_onnx(path); });
    std::optional<NetworkSource> source;
    unbound.run([&] { source.emplace(*graph); });
    bound.run([&] { after = source->bound(batch).nodes.size(); });
    before = graph->nodes.size();
    beyond.add(load.last() + unbound.last() + bound.last() - read.last());
  }
  fmt::print("{} ({:.0f} MB), batch {}: {} nodes become {}; medians of {} rounds\n", path,
             static_cast<double>(std::filesystem::file_size(path)) / 1e6, batch, before, after, rounds);
  for (Step* step : {&read, &load, &unbound, &bound, &beyond}) step->print();
}

}  // namespace
}  // namespace deepgap

int main(int argc, char** argv) {
  try {
    if (argc < 2) throw deepgap::Error(deepgap::ErrorKind::usage, "usage: graph_passes FILE.onnx [BATCH]");
    deepgap::measure(argv[1], argc > 2 ? std::atoll(argv[2]) : 1);
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "graph_passes: {}\n", error.what());
    return 1;
  }
}
