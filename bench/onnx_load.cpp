// Measures how long read_onnx takes on a cached file, as a multiple of one read() into newly allocated memory. The limit is 2.
//     onnx_load [FILE.onnx]      without a file: ResNet-101 (178 MB), made for the purpose
#include "read_once.h"

#include "base/file.h"
#include "model/onnx_reader.h"
#include "model/onnx_writer.h"
#include "model/zoo/zoo.h"

#include <deepgap/error.h>

#include <fmt/format.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <vector>

namespace deepgap {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_of(auto work) {
  const auto begin = Clock::now();
  work();
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// Weights of any value: only their bytes count here.
void write_resnet101(const std::string& path) {
  ZooOptions options;
  Graph graph = find_zoo_model("resnet101", options)->build(options);
  for (auto& [id, constant] : graph.constants) {
    if (constant.data != nullptr) continue;
    constant = make_tensor(constant.type, constant.shape);
    std::fill_n(writable<float>(constant).data(), element_count(constant.shape), 0.5f);
  }
  write_file_atomic(path, write_onnx(graph));
}

double quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(std::lround(q * static_cast<double>(values.size() - 1)))];
}

void measure(const std::string& path) {
  // What a round frees goes back to the system, so that memory is as new to every round as to a process that loads once.
  ::mallopt(M_MMAP_THRESHOLD, 128 << 10);
  ::mallopt(M_TRIM_THRESHOLD, 0);
  constexpr int rounds = 21;
  std::vector<double> reads, loads, ratios;
  for (int round = 0; round <= rounds; ++round) {
    const double read_s = seconds_of([&] { read_once(path); });
    const double load_s = seconds_of([&] { read_onnx(path); });
    if (round == 0) continue;  // the file comes into the cache
    reads.push_back(read_s);
    loads.push_back(load_s);
    ratios.push_back(load_s / read_s);
  }
  fmt::print("{} ({:.1f} MB), {} interleaved rounds\n", path, static_cast<double>(std::filesystem::file_size(path)) / 1e6, rounds);
  fmt::print("read() into new memory: median {:.1f} ms\nread_onnx:              median {:.1f} ms\n", 1e3 * quantile(reads, 0.5),
             1e3 * quantile(loads, 0.5));
  fmt::print("ratio: median {:.2f}, quartiles {:.2f} to {:.2f}, extremes {:.2f} to {:.2f} (limit 2)\n", quantile(ratios, 0.5),
             quantile(ratios, 0.25), quantile(ratios, 0.75), quantile(ratios, 0), quantile(ratios, 1));
}

}  // namespace
}  // namespace deepgap

int main(int argc, char** argv) {
  try {
    if (argc > 1) {
      deepgap::measure(argv[1]);
      return 0;
    }
    std::string folder = (std::filesystem::temp_directory_path() / "deepgap-onnx-load-XXXXXX").string();
    if (::mkdtemp(folder.data()) == nullptr) throw deepgap::Error(deepgap::ErrorKind::input, "cannot make a folder for the file");
    deepgap::write_resnet101(folder + "/resnet101.onnx");
    deepgap::measure(folder + "/resnet101.onnx");
    std::filesystem::remove_all(folder);
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "onnx_load: {}\n", error.what());
    return 1;
  }
}
