// A libcupti whose records and counts are of what the played driver launches (played_gpu.cpp, in whose library it is): kernels whose counts
// are known count right, all others 4096 bytes read and 1024 written a block, 16384 of first-level caches, and those of products 1000000
// operations of tensor cores a block. DEEPGAP_PLAYED_GPU sets it too:
//     deny=FUNCTION:RESULT     the function answers so
//     die=FUNCTION             ... or ends the process
//     blind=1                  counts are 0
//     whole=1                  ranges are marked ones alone
#include "kernels/counters_fake.h"
#include "kernels/cupti_fake.h"
#include "played_gpu.h"

#include <cstdlib>
#include <string>

namespace {

using namespace deepgap::cupti;
using deepgap::cuda::FakeDriver;
using deepgap::cuda::LaunchConfig;

constexpr double sums = 8, operations = 2.0 * 16 * 8 * 16;

class Played {
 public:
  Played() : counters_(played_gpu()) {
    for (const char* name : {"dram__bytes_read", "dram__bytes_write", "lts__t_sectors_op_read", "lts__t_sectors_op_write", "l1tex__t_bytes",
                             "sm__cycles_active", "sm__cycles_elapsed", "sm__warps_active", "sm__ops_path_tensor_src_fp16"})
      counters_.chip_has.emplace_back(name);
    for (const char* type : {"f", "h", "d"})
      for (const char* op : {"add", "mul", "fma"})
        counters_.chip_has.push_back(std::string("sm__sass_thread_inst_executed_op_") + type + op + "_pred_on");
    activity_.on_flush = [this] {
      activity_.add_externals();
      activity_.deliver();
    };
    played_gpu().on_launch = [this](const std::string& kernel, const LaunchConfig& config, void** arguments, bool in_graph) {
      launched(kernel, config, arguments, in_graph);
    };
  }

  Api table() {
    Api all = counters_.table();
    const Api& activity = activity_.table();
#define DEEPGAP_TAKE(name, parameters) all.name = activity.name;
    DEEPGAP_CUPTI_FUNCTIONS(DEEPGAP_TAKE)
#undef DEEPGAP_TAKE
    return all;
  }
  void set(const std::string& name, const std::string& value) {
    if (name == "blind") counters_.blind = true;
    if (name == "whole") counters_.refused = {{range_of_kernel, replay_of_user}};
    const size_t colon = value.find(':');
    if (name == "deny") counters_.fails[value.substr(0, colon)] = std::stoi(value.substr(colon + 1));
    if (name == "die") counters_.deadly = value;
  }

 private:
  void launched(const std::string& kernel, const LaunchConfig& config, void** arguments, bool in_graph) {
    record(kernel, config, in_graph);
    counters_.kernel(counts_of(kernel, config, arguments));
  }
  void record(const std::string& kernel, const LaunchConfig& config, bool in_graph) {
    KernelRecord record{};
    record.kind = kind_kernel;
    record.name = names_.insert(kernel).first->c_str();
    record.start = now_ += 1000;
    record.end = now_ += 5000;
    record.grid_x = static_cast<int>(config.grid_x);
    record.grid_y = static_cast<int>(config.grid_y);
    record.grid_z = static_cast<int>(config.grid_z);
    record.block_x = static_cast<int>(config.block_x);
    record.block_y = record.block_z = 1;
    record.registers = 32;
    record.correlation = activity_.launch();
    record.graph_node = in_graph ? record.correlation : 0;
    if (!activity_.enabled.empty()) activity_.add(record);
  }
  static FakeCounters::Values counts_of(const std::string& kernel, const LaunchConfig& config, void** arguments) {
    const double blocks = static_cast<double>(config.grid_x) * config.grid_y * config.grid_z, threads = blocks * config.block_x;
    FakeCounters::Values values{
        {"sm__cycles_active.avg", 900}, {"sm__cycles_elapsed.max", 1000}, {"sm__warps_active.avg.pct_of_peak_sustained_active", 50}};
    if (kernel == "known_copy") {
      const double bytes = 16 * static_cast<double>(*static_cast<long long*>(arguments[2]));
      values["dram__bytes_read.sum"] = values["dram__bytes_write.sum"] = bytes;
      values["l1tex__t_bytes.sum"] = 2 * bytes;
    } else if (kernel == "known_near") {
      values["l1tex__t_bytes.sum"] = threads * *static_cast<int*>(arguments[1]) * 4 * 16;
    } else if (kernel == "known_fma") {
      values["sm__sass_thread_inst_executed_op_ffma_pred_on.sum"] = threads * *static_cast<int*>(arguments[1]) * sums;
    } else if (kernel == "known_product") {
      values["sm__ops_path_tensor_src_fp16.sum"] = threads / 32 * *static_cast<int*>(arguments[1]) * sums * operations;
    } else {
      values["dram__bytes_read.sum"] = 4096 * blocks;
      values["dram__bytes_write.sum"] = 1024 * blocks;
      values["l1tex__t_bytes.sum"] = 16384 * blocks;
      values["sm__sass_thread_inst_executed_op_ffma_pred_on.sum"] = threads;
      const bool product = kernel.find("mma") != std::string::npos || kernel == "stem" || kernel == "window";
      values["sm__ops_path_tensor_src_fp16.sum"] = product ? 1e6 * blocks : 0;
    }
    return values;
  }

  FakeCupti activity_;
  FakeCounters counters_;
  std::set<std::string> names_;
  uint64_t now_ = 0;
};

// Lives as long as the process.
Played& played() {
  static Played* made = [] {
    auto* cupti = new Played;
    for (const auto& [name, value] : played_settings()) cupti->set(name, value);
    return cupti;
  }();
  return *made;
}

const Api& table() {
  static const Api made = played().table();
  return made;
}

}  // namespace

#define DEEPGAP_PLAYED(name, parameters)                                      \
  extern "C" __attribute__((visibility("hidden"))) const void* played_##name; \
  const void* played_##name = reinterpret_cast<const void*>(table().name);    \
  asm(".text\n.globl " #name "\n.type " #name ", @function\n" #name ":\n  jmp *played_" #name "(%rip)\n");
DEEPGAP_CUPTI_FUNCTIONS(DEEPGAP_PLAYED)
DEEPGAP_CUPTI_PROFILER_FUNCTIONS(DEEPGAP_PLAYED)
#undef DEEPGAP_PLAYED
