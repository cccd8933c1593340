// The native engine against ONNX Runtime on the same model, weights and pictures, FP32, through the same plug-in interface.
//     cpu_engine [MODEL=resnet50] [ROUNDS=15] [THREADS=allowed CPUs] [CACHE=folder for seeded weights]
//         [KEY=VALUE option of native]
// docs/results/cpu-engine.md has results, and says why GOMP_SPINCOUNT should be set.
// Each engine lives in a process of its own and is loaded for batches 1 and 16. They take turns, the first one changing with the round;
// before each turn the machine is quiet for long enough that the other engine's threads have stopped spinning. A turn is one unmeasured
// run and then runs for half a second; its figure is the median run. Printed per batch: both medians over the rounds, and the median and
// the quartiles of the rounds' ratios. Outputs are compared first; engines that disagree get no figures.
#include "base/clocks.h"
#include "model/model_source.h"
#include "model/weights/seeded.h"
#include "worker/plugin.h"

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
#include <numeric>
#include <thread>

namespace {

using namespace deepgap;
using Seconds = std::chrono::duration<double>;

constexpr int64_t batches[] = {1, 16};
constexpr auto quiet = std::chrono::milliseconds(150);

struct Request {
  int64_t batch = 0;  // 0: end
};
struct Reply {
  double images_per_s = 0;
  std::array<float, 1000> first_output{};  // of the first picture
};

template <typename T>
bool receive(int fd, T& value) {
  return read(fd, &value, sizeof value) == static_cast<ssize_t>(sizeof value);
}
template <typename T>
void send(int fd, const T& value) {
  if (write(fd, &value, sizeof value) != static_cast<ssize_t>(sizeof value)) std::_Exit(1);
}

struct Pictures {
  explicit Pictures(const Value& input) {
    const auto& dims = *input.dims;
    shape = {1, dims[1].size, dims[2].size, dims[3].size};
    const auto elements = static_cast<size_t>(element_count(shape));
    pixels.resize(elements * 16);
    for (size_t i = 0; i < 16; ++i) {
      const std::span<float> picture(pixels.data() + i * elements, elements);
      fill_smooth(picture, shape[1], shape[2], shape[3], 1, i);
      staged.push_back({TensorView{DataType::f32, shape, reinterpret_cast<const std::byte*>(picture.data())}});
    }
  }
  Shape shape;
  std::vector<float> pixels;
  std::vector<std::vector<TensorView>> staged;
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
  int threads = 1;
  std::string native_option;
};

[[noreturn]] void serve(const std::string& engine, const Settings& settings, int in, int out) {
  try {
    const auto clock = make_real_clock();
    const auto model = open_model(settings.request);
    const auto plugin = open_plugin(engine);
    LoadOptions options;
    options.batch_sizes.assign(std::begin(batches), std::end(batches));
    options.threads = settings.threads;
    if (const auto equals = settings.native_option.find('='); engine == "native" && equals != std::string::npos)
      options.options[settings.native_option.substr(0, equals)] = settings.native_option.substr(equals + 1);
    options.clock = clock.get();
    options.completion = [&](std::span<const Done> done) {
      if (done[0].status != Status::ok) std::_Exit(1);
    };
    const auto session = plugin->backend().load(*model, options);
    fmt::print("{}: {}\n", engine, plugin->backend().version());
    std::fflush(stdout);
    const Pictures pictures(model->graph().values[static_cast<size_t>(model->graph().inputs[0])]);
    session->stage(pictures.staged);
    send(out, Reply{});  // ready
    for (Request next; receive(in, next) && next.batch > 0;) {
      Reply reply{time_runs(*session, next.batch), {}};
      const auto logits = session->outputs(0)[0].as<float>();
      std::copy_n(logits.begin(), std::min(logits.size() / static_cast<size_t>(next.batch), size_t{1000}), reply.first_output.begin());
      send(out, reply);
    }
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}: {}\n", engine, error.what());
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
    answer();
  }
  Reply turn(int64_t batch) {
    std::this_thread::sleep_for(quiet);
    send(to_, Request{batch});
    return answer();
  }
  void end() { send(to_, Request{}); }

 private:
  Reply answer() {
    Reply reply;
    if (!receive(from_, reply)) throw Error(ErrorKind::internal, name_ + " ended early");
    return reply;
  }
  std::string name_;
  int to_ = -1, from_ = -1;
};

double quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(std::lround(q * static_cast<double>(values.size() - 1)))];
}

double sqnr_db(const Reply& reference, const Reply& other) {
  double signal = 1e-30, noise = 1e-30;
  for (size_t i = 0; i < reference.first_output.size(); ++i) {
    signal += std::pow(static_cast<double>(reference.first_output[i]), 2);
    noise += std::pow(static_cast<double>(reference.first_output[i]) - static_cast<double>(other.first_output[i]), 2);
  }
  return 10 * std::log10(signal / noise);
}

void compare(Engine& native, Engine& peer, int64_t batch, int rounds) {
  std::vector<double> ours, theirs, ratios;
  for (int round = 0; round < rounds; ++round) {
    Reply a, b;
    if (round % 2 == 0) a = native.turn(batch);
    b = peer.turn(batch);
    if (round % 2 == 1) a = native.turn(batch);
    if (const double agreement = sqnr_db(b, a); agreement < 80) {
      fmt::print("batch {}: INCORRECT, the engines agree to {:.1f} dB only\n", batch, agreement);
      return;
    }
    ours.push_back(a.images_per_s);
    theirs.push_back(b.images_per_s);
    ratios.push_back(a.images_per_s / b.images_per_s);
  }
  fmt::print("batch {:2}: native {:.1f}, onnxruntime {:.1f} images/s; ratio {:.3f} (quartiles {:.3f} to {:.3f}, {} rounds)\n", batch,
             quantile(ours, 0.5), quantile(theirs, 0.5), quantile(ratios, 0.5), quantile(ratios, 0.25), quantile(ratios, 0.75), rounds);
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

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  settings.request.name = argc > 1 ? argv[1] : "resnet50";
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 15;
  settings.threads = argc > 3 ? std::atoi(argv[3]) : allowed_cpu_count();
  settings.request.cache_dir = argc > 4 ? argv[4] : "";
  settings.native_option = argc > 5 ? argv[5] : "";
  try {
    fmt::print("{}, {} threads, {} FP32 {}\n", cpu_name(), settings.threads, settings.request.name, settings.native_option);
    std::fflush(stdout);
    Engine native("native", settings), peer("onnxruntime", settings);
    for (int64_t batch : batches) compare(native, peer, batch, rounds);
    native.end();
    peer.end();
    while (wait(nullptr) > 0) continue;
  } catch (const std::exception& error) {
    fmt::print(stderr, "cpu_engine: {}\n", error.what());
    return 1;
  }
  return 0;
}
