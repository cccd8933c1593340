// The native engine against OpenVINO and ONNX Runtime on the same model, weights and samples, through the same plug-in interface.
//     cpu_engine [model=resnet50] [precision=fp32] [rounds=15] [threads=allowed CPUs] [cache=folder for seeded weights]
//         [peers=openvino,onnxruntime] [batches=1,16] [shape=INPUT:1x3x640x640] [native.KEY=VALUE ...]
// For precision=int8 the model is a quantized file, the same for all. A peer that refuses is named with its reason.
// docs/results/cpu-engine.md has results, and says why GOMP_SPINCOUNT should be set.
// Each engine lives in a process of its own and is loaded for all batches at once, one query at a time on all threads. They take turns, the
// first one changing with the round; before each turn the machine is quiet for long enough that the other engine's threads have stopped
// spinning. A turn is one unmeasured run and then runs for half a second; its figure is the median run. Printed per batch: each engine's
// median over the rounds, and the median and the quartiles of the rounds' ratios to the better peer. Outputs are compared first; engines
// that disagree get no figures.
#include "base/clocks.h"
#include "base/text.h"
#include "dataset/open_dataset.h"
#include "model/integer_values.h"
#include "model/model_source.h"
#include "scenario/adjacent_samples.h"
#include "worker/plugin.h"
#include "worker/point_options.h"

#include <deepgap/error.h>

#include <fmt/core.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <numeric>
#include <thread>

namespace {

using namespace deepgap;
using Seconds = std::chrono::duration<double>;

constexpr auto quiet = std::chrono::milliseconds(150);

struct Request {
  int64_t batch = 0;  // 0: end
};
struct Reply {
  bool refused = false;
  double samples_per_s = 0;
  double int8_share = -1;                  // of the multiply-accumulates; below 0: not told
  std::array<float, 1000> first_output{};  // begin of the first sample's
};

template <typename T>
bool receive(int fd, T& value) {
  return read(fd, &value, sizeof value) == static_cast<ssize_t>(sizeof value);
}
template <typename T>
void send(int fd, const T& value) {
  if (write(fd, &value, sizeof value) != static_cast<ssize_t>(sizeof value)) std::_Exit(1);
}

class Samples {
 public:
  Samples(const Model& model, size_t count) {
    DatasetRequest request;
    request.inputs = model.summary().inputs;
    request.integer_values = integer_values(model.graph());
    request.size = count;
    dataset_ = open_dataset(request);
    std::vector<uint32_t> indices(count);
    std::iota(indices.begin(), indices.end(), 0U);
    dataset_->load(indices);
    std::vector<std::vector<TensorView>> samples;
    for (uint32_t index : indices) samples.push_back(dataset_->sample(index));
    adjacent_ = AdjacentSamples(samples, 1);  // so that nobody has to put a batch together
  }
  std::span<const std::vector<TensorView>> staged() const { return adjacent_.views(); }

 private:
  std::unique_ptr<Dataset> dataset_;
  AdjacentSamples adjacent_;
};

double time_runs(Session& session, int64_t batch) {
  std::vector<uint32_t> samples(static_cast<size_t>(batch));
  std::iota(samples.begin(), samples.end(), 0U);
  std::vector<double> runs;
  const auto once = [&] {
    const auto begin = std::chrono::steady_clock::now();
    session.enqueue(0, samples, 0);
    session.drain();
    return Seconds(std::chrono::steady_clock::now() - begin).count();
  };
  once();
  double spent = 0;
  while (spent < 0.5) {
    runs.push_back(once());
    spent += runs.back();
  }
  std::nth_element(runs.begin(), runs.begin() + static_cast<std::ptrdiff_t>(runs.size() / 2), runs.end());
  return static_cast<double>(batch) / runs[runs.size() / 2];
}

struct Settings {
  ModelRequest request;
  std::string precision = "fp32";
  int rounds = 15, threads = 1;
  std::vector<std::string> peers{"openvino", "onnxruntime"};
  std::vector<int64_t> batches{1, 16};
  std::map<std::string, std::string> native_options;
};

[[noreturn]] void serve(const std::string& engine, const Settings& settings, int in, int out) {
  try {
    const auto clock = make_real_clock();
    const auto model = open_model(settings.request);
    const auto plugin = open_plugin(engine);
    LoadOptions options;
    options.batch_sizes = settings.batches;
    options.threads = settings.threads;
    options.precision = precision_from(settings.precision).value();
    if (engine == "native") options.options = settings.native_options;
    options.clock = clock.get();
    options.completion = [&](std::span<const Done> done) {
      if (done[0].status != Status::ok) std::_Exit(1);
    };
    const auto session = plugin->backend().load(*model, options);
    fmt::print("{}: {}\n", engine, plugin->backend().version());
    std::fflush(stdout);
    const Samples samples(*model, static_cast<size_t>(*std::max_element(settings.batches.begin(), settings.batches.end())));
    session->stage(samples.staged());
    const auto shares = session->precision_shares();
    const auto int8 = shares.find("int8");
    send(out, Reply{.int8_share = shares.empty() ? -1 : int8 == shares.end() ? 0 : int8->second});  // ready
    for (Request next; receive(in, next) && next.batch > 0;) {
      Reply reply{.samples_per_s = time_runs(*session, next.batch)};
      const auto output = session->outputs(0)[0].as<float>();
      std::copy_n(output.begin(), std::min(output.size() / static_cast<size_t>(next.batch), reply.first_output.size()),
                  reply.first_output.begin());
      send(out, reply);
    }
  } catch (const std::exception& error) {
    fmt::print("{}: {}\n", engine, error.what());
    std::fflush(stdout);
    send(out, Reply{.refused = true});
    std::_Exit(1);
  }
  std::_Exit(0);
}

class Engine {
 public:
  Engine(std::string name, const Settings& settings) : name_(std::move(name)) {
    int down[2], up[2];
    if (pipe(down) != 0 || pipe(up) != 0) throw Error(ErrorKind::internal, "no pipes");
    if (fork() == 0) {
      close(down[1]);
      serve(name_, settings, down[0], up[1]);
    }
    close(down[0]);
    close(up[1]);
    to_ = down[1];
    from_ = up[0];
    const Reply ready = answer();
    refused_ = ready.refused;
    int8_share_ = ready.int8_share;
  }
  const std::string& name() const { return name_; }
  bool refused() const { return refused_; }
  double int8_share() const { return int8_share_; }
  Reply turn(int64_t batch) {
    std::this_thread::sleep_for(quiet);
    send(to_, Request{batch});
    return answer();
  }
  void end() {
    if (!refused_) send(to_, Request{});
  }

 private:
  Reply answer() {
    Reply reply;
    if (!receive(from_, reply)) throw Error(ErrorKind::internal, name_ + " ended early");
    return reply;
  }
  std::string name_;
  int to_ = -1, from_ = -1;
  bool refused_ = false;
  double int8_share_ = -1;
};

double quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(std::lround(q * static_cast<double>(values.size() - 1)))];
}

struct Agreement {
  double sqnr_db = 0, largest_error = 0;
};

Agreement agreement_of(const Reply& reference, const Reply& other) {
  double signal = 1e-30, noise = 1e-30, largest = 0;
  for (size_t i = 0; i < reference.first_output.size(); ++i) {
    const auto expected = static_cast<double>(reference.first_output[i]);
    const double error = std::abs(expected - static_cast<double>(other.first_output[i]));
    signal += expected * expected;
    noise += error * error;
    largest = std::max(largest, error);
  }
  return {10 * std::log10(signal / noise), largest};
}

// What two engines' first outputs agree to at least. In INT8 each is about 20 dB from what the file means. Probabilities of almost 0 need
// not agree relatively: engines' sigmoids end differently there.
bool agree(const Agreement& agreement, const std::string& precision) {
  return agreement.sqnr_db >= (precision == "fp32" ? 80 : 10) || agreement.largest_error < 1e-6;
}

// engines[0] is native.
void compare(std::span<Engine* const> engines, int64_t batch, const Settings& settings) {
  std::vector<std::vector<double>> rates(engines.size());
  for (int round = 0; round < settings.rounds; ++round) {
    std::vector<Reply> replies(engines.size());
    for (size_t i = 0; i < engines.size(); ++i) {
      const size_t at = (i + static_cast<size_t>(round)) % engines.size();
      replies[at] = engines[at]->turn(batch);
    }
    for (size_t i = 0; i < engines.size(); ++i) {
      rates[i].push_back(replies[i].samples_per_s);
      if (const auto agreement = agreement_of(replies[i], replies[0]); i > 0 && !agree(agreement, settings.precision)) {
        fmt::print("batch {}: INCORRECT, native and {} agree to {:.1f} dB only, largest error {:.2g}\n", batch, engines[i]->name(),
                   agreement.sqnr_db, agreement.largest_error);
        return;
      }
    }
  }
  fmt::print("batch {:2}:", batch);
  size_t best = 0;
  for (size_t i = 0; i < engines.size(); ++i) {
    fmt::print(" {} {:.1f}", engines[i]->name(), quantile(rates[i], 0.5));
    if (i > 0 && (best == 0 || quantile(rates[i], 0.5) > quantile(rates[best], 0.5))) best = i;
  }
  fmt::print(" samples/s");
  if (best > 0) {
    std::vector<double> ratios;
    for (size_t i = 0; i < rates[0].size(); ++i) ratios.push_back(rates[0][i] / rates[best][i]);
    fmt::print("; native / {} {:.3f} (quartiles {:.3f} to {:.3f}, {} rounds)", engines[best]->name(), quantile(ratios, 0.5),
               quantile(ratios, 0.25), quantile(ratios, 0.75), settings.rounds);
  }
  fmt::print("\n");
  std::fflush(stdout);
}

std::string cpu_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);)
    if (line.starts_with("model name")) return line.substr(line.find(": ") + 2);
  return "unknown CPU";
}

int allowed_cpu_count() {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

Settings parse(int argc, char** argv) {
  Settings settings;
  settings.request.name = "resnet50";
  settings.threads = allowed_cpu_count();
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const auto equals = argument.find('=');
    const std::string key = argument.substr(0, equals), value = equals == std::string::npos ? "" : argument.substr(equals + 1);
    if (key == "model") {
      settings.request.name = value;
    } else if (key == "precision") {
      settings.precision = value;
    } else if (key == "rounds") {
      settings.rounds = std::atoi(value.c_str());
    } else if (key == "threads") {
      settings.threads = std::atoi(value.c_str());
    } else if (key == "cache") {
      settings.request.cache_dir = value;
    } else if (key == "peers") {
      settings.peers = split(value, ',');
    } else if (key == "batches") {
      settings.batches.clear();
      for (const auto& batch : split(value, ',')) settings.batches.push_back(std::atoll(batch.c_str()));
    } else if (key == "shape") {
      settings.request.shapes = parse_shapes(value);
    } else if (key.starts_with("native.")) {
      settings.native_options[key.substr(7)] = value;
    } else {
      throw Error(ErrorKind::usage, "unknown argument " + argument);
    }
  }
  return settings;
}

void run(const Settings& settings) {
  fmt::print("{}, {} threads, {} {}\n", cpu_name(), settings.threads, settings.precision, settings.request.name);
  std::fflush(stdout);
  std::vector<std::unique_ptr<Engine>> made;
  made.push_back(std::make_unique<Engine>("native", settings));
  for (const auto& peer : settings.peers)
    if (!peer.empty()) made.push_back(std::make_unique<Engine>(peer, settings));
  if (made[0]->refused()) throw Error(ErrorKind::refused, "native does not run this");
  if (made[0]->int8_share() >= 0) fmt::print("native: {:.2f} % of the multiply-accumulates in int8\n", made[0]->int8_share() * 100);
  std::vector<Engine*> engines;
  for (const auto& engine : made)
    if (!engine->refused()) engines.push_back(engine.get());
  for (int64_t batch : settings.batches) compare(engines, batch, settings);
  for (const auto& engine : made) engine->end();
  while (wait(nullptr) > 0) continue;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    run(parse(argc, argv));
  } catch (const std::exception& error) {
    fmt::print(stderr, "cpu_engine: {}\n", error.what());
    return 1;
  }
  return 0;
}
