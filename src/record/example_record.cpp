#include "record/example_record.h"

#include <fmt/format.h>

#include <random>

namespace deepgap {
namespace {

Facts example_environment() {
  Facts facts{{"host.name", "node-17.example.org"},
              {"host.serial", "SN-4711-0815"},
              {"os.name", "Debian GNU/Linux 12 (bookworm)"},
              {"kernel.release", "6.1.0-18-amd64"},
              {"cpu.model", "Example CPU @ 2.10GHz"},
              {"cpu.sockets", int64_t{1}},
              {"cpu.turbo", true},
              {"memory.total_bytes", int64_t{1} << 34},
              {"git.root", "/home/someone/src/deepgap"},
              {"power.rapl", "not available: no /sys/class/powercap"}};
  for (int i = 0; i < 50; ++i) facts.emplace(fmt::format("library.example_{:02}.version", i), fmt::format("{}.{}.0-example", i, 2 * i));
  return facts;
}

Point example_point(std::mt19937_64& random) {
  Point point;
  point.model = random() % 2 == 0 ? "resnet50" : "efficientnet_lite0";
  point.backend = random() % 2 == 0 ? "native" : "onnxruntime";
  point.batch = int64_t{1} << (random() % 9);
  point.threads = 2;
  point.options = {{"pin", "on"}, {"shard", std::to_string(random() % 100)}};
  return point;
}

void add_timings(Record& record, std::mt19937_64& random, size_t count) {
  Nanoseconds now = 1'000'000'000;
  for (size_t i = 0; i < count; ++i) {
    const Nanoseconds latency = 7'000'000 + static_cast<Nanoseconds>(random() % 200'000);
    record.timings.push_back({i, now, now + 900, now + latency, static_cast<uint32_t>(record.point.batch), Status::ok});
    now += latency + 1000;
  }
}

}  // namespace

Record example_record(uint64_t seed, size_t timings) {
  std::mt19937_64 random(seed);
  Record record;
  record.record_id = fmt::format("{:016x}{:016x}", random(), seed);
  record.run_id = "0123456789abcdef0123456789abcdef";
  record.study = "example";
  record.point = example_point(random);
  record.repeat = static_cast<int>(seed % 3);
  record.sweep = static_cast<int>(seed % 2);
  record.started_unix_ns = 1'790'000'000'000'000'000 + static_cast<int64_t>(seed) * 1'000'000'000;
  record.verdict = Verdict::valid;
  record.stopping.warmup = 20;
  record.stopping.iterations = 100;
  record.stopping.name = "counts";
  record.backend_version = "oneDNN 2.6.3";
  record.dataset_description = "seeded, seed 1, 64 samples";
  record.environment = example_environment();
  record.environment["memory.available_bytes"] = static_cast<int64_t>(random() >> 30);
  record.facts = {{"cpus", "0,1"}, {"probe.proc", true}, {"layers.kept", int64_t{53}}, {"steal.share", 0.001953125}};
  record.load_s = 0.25 + static_cast<double>(random() % 1000) / 1e4;
  record.compile_s = 0.125;
  record.first_result_ms = 31.5;
  record.device_memory = {104'857'600, 98'000'000, 101'000'000};
  record.host_memory_peak_bytes = 300'000'000;
  record.parameters = 25'557'032;
  record.macs_per_item = 4'089'184'256;
  record.flop_per_item = 8'178'368'512;
  record.bytes_per_item = 190'000'000;
  record.check = CheckResult{"native fp32 reference", 8, 1.5e-5, 2e-6, 118.5, 1.0, 60.0, true};
  record.warmup_queries = 20;
  record.windows = {{"load", 0, 5'000'000}, {"warm_up", 10'000'000, 900'000'000}, {"steady", 1'000'000'000, 2'000'000'000}};
  record.series = {{"proc", "cpu_time", "s", true, {0, 100, 200}, {1.25, 1.5, 1.75}},
                   {"proc", "rss", "bytes", false, {0, 100}, {4096, 8192}}};
  add_timings(record, random, timings);
  const double throughput = 100 + static_cast<double>(random() % 10000) / 97;
  record.estimates["throughput"] = {throughput, throughput * 0.99, throughput * 1.01, 100};
  for (int i = 0; i < 19; ++i)
    record.estimates[fmt::format("latency_example{:02}_ms", i)] = {static_cast<double>(random() % 100000) / 7, {}, {}, 100};
  return record;
}

}  // namespace deepgap
