// deepgap profile: where the time of a network goes, layer by layer, and how near each layer is to what the machine can do.
#include "base/subprocess.h"
#include "base/text.h"
#include "cli/child.h"
#include "cli/command.h"
#include "cli/machine_ceilings.h"
#include "plan/study.h"
#include "profile/show.h"
#include "run/run_study.h"
#include "telemetry/environment.h"
#include "worker/child_call.h"
#include "worker/plugin.h"
#include "worker/point_options.h"
#include "worker/profile_layers.h"
#include "worker/quantize_order.h"

#include <deepgap/error.h>

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>

namespace deepgap {
namespace {

using nlohmann::json;

constexpr const char* child_command = "__profile";

size_t output_width() {
  winsize size{};
  const bool terminal = ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return terminal ? std::clamp<size_t>(size.ws_col, 80, 160) : 120;
}

class ProfileCommand : public Command {
 public:
  std::string name() const override { return "profile"; }
  std::string describe() const override { return "Where a network's time goes: each layer's, beside what this machine can do at most"; }

  void declare(CLI::App& app) override {
    OutputsRequest& engine = request_.engine;
    engine.backend = "native";
    engine.threads = 0;
    engine.samples = 4;
    app.add_option("model", engine.model.name, "Zoo name (deepgap models) or ONNX file")->type_name("NAME|FILE")->required();
    app.add_option("-e,--backend", engine.backend, "Engine (deepgap backends); left out: native")->type_name("NAME");
    app.add_option("-p,--precision", engine.precision, "fp32, bf16, ...; left out: fp32")->type_name("NAME");
    app.add_option("-b,--batch", request_.batch, "Samples a query; left out: 1")->type_name("N");
    app.add_option("-t,--threads", engine.threads, "Of the engine; left out: the CPUs allowed here")->type_name("N");
    app.add_option("--rounds", request_.rounds, "Runs, of which the quicker half counts; left out: as many as fit into 5 s, 5 to 100")
        ->type_name("N");
    app.add_option("--top", top_, "Only the N slowest layers, slowest first")->type_name("N");
    app.add_option("--option", options_, "Option of the engine: name=value")->type_name("NAME=VALUE")->take_all()->allow_extra_args(false);
    app.add_option("--isa", isa_, "Most that the native engine may use: auto, avx2, avx512, avx512_vnni, avx512_bf16, amx")
        ->type_name("NAME");
    app.add_option("--dataset", engine.dataset, "seeded, zeros, pictures, a folder or a file; left out: seeded")->type_name("NAME|PATH");
    app.add_option("-w,--weights", engine.model.weights, "seeded, a named set (imagenet), or a safetensors file")->type_name("NAME|FILE");
    app.add_option("--shape", shapes_, "Sizes of an input that leaves them open: input:1x3x224x224")->type_name("INPUT:DIMS");
    app.add_option("--cache", cache_, "Folder that keeps weights and ceilings once they are made")->type_name("DIR");
    app.add_flag("--fresh-ceilings", fresh_, "Measure what the machine can do again, though it is kept");
    app.add_flag("--json", json_, "An object, for programs");
    app.footer(
        "Of roof: the least time that the measured ceilings allow, over the time taken. docs/profile.md says how they are measured.");
  }

  int run() override {
    prepare();
    if (request_.engine.precision == "int8") provide_quantized();
    const Facts environment = capture_environment();
    // Before the engine: its threads would be in the way.
    const ShownCeilings machine = machine_ceilings(request_.engine.threads, environment, request_.engine.cache_dir, fresh_);
    const LayerProfile profile = layer_profile_from_json(call_child(
        child_command, profile_request_to_json(request_), fmt::format("{} with {}", request_.engine.backend, request_.engine.model.name)));
    const ProfileRows rows = profile_rows(profile, machine.ceilings, request_.engine.precision, last_cache_bytes(environment));
    const ProfileHeader header{request_.engine.model.name, request_.engine.precision, request_.batch, request_.engine.threads};
    if (json_) {
      fmt::print("{}\n", profile_json(header, profile, rows, machine).dump(2, ' ', false, json::error_handler_t::replace));
    } else {
      fmt::print("{}", profile_text(header, profile, rows, machine, output_width(), top_));
    }
    return exit_ok;
  }

 private:
  void prepare() {
    OutputsRequest& engine = request_.engine;
    require_backend_name(engine.backend);
    require_precision(engine.precision);
    const auto within = [](const char* flag, int64_t value, int64_t least, int64_t most) {
      if (value < least || value > most) throw Error(ErrorKind::usage, fmt::format("{} must be {} to {}", flag, least, most));
    };
    within("--batch", request_.batch, 1, 65'536);
    if (request_.rounds != 0) within("--rounds", request_.rounds, 1, 100'000);
    if (engine.threads != 0) within("--threads", engine.threads, 1, 4096);
    if (engine.threads == 0) engine.threads = static_cast<int>(allowed_cpus().size());
    std::string shapes = join(shapes_, "/");
    std::replace(shapes.begin(), shapes.end(), ',', 'x');
    engine.model.shapes = parse_shapes(shapes);
    engine.cache_dir = std::filesystem::absolute(cache_.empty() ? default_cache_dir() : cache_).string();
    if (!isa_.empty()) options_.push_back("isa=" + isa_);
    for (const std::string& option : options_) {
      const size_t equals = option.find('=');
      if (equals == std::string::npos || equals == 0) throw Error(ErrorKind::usage, fmt::format("--option '{}' is not name=value", option));
      engine.options[option.substr(0, equals)] = option.substr(equals + 1);
    }
  }

  // An FP32 model is quantized once, with the settings that `run` takes when none are given.
  void provide_quantized() const {
    QuantizeOrder order;
    order.model = request_.engine.model;
    order.model.cache_dir = request_.engine.cache_dir;
    order.settings = request_.engine.quantize;
    order.point_dataset = request_.engine.dataset;
    order.threads = request_.engine.threads;
    ask_child("__quantize", quantize_order_to_json(order), "the child process", fmt::format("quantized {}", order.model.name));
  }

  ProfileRequest request_;
  std::vector<std::string> options_, shapes_;
  std::string cache_, isa_;
  size_t top_ = 0;
  bool fresh_ = false, json_ = false;
};

class ProfileChild : public Command {
 public:
  std::string name() const override { return child_command; }
  std::string describe() const override { return "child of `profile`"; }
  bool hidden() const override { return true; }
  void declare(CLI::App&) override {}
  int run() override {
    return serve_call(channel_descriptor,
                      [](const json& request) { return layer_profile_to_json(profile_layers(profile_request_from_json(request))); });
  }
};

const bool profile_registered = Registry<Command>::instance().add("profile", [] { return std::make_unique<ProfileCommand>(); });
const bool child_registered = Registry<Command>::instance().add(child_command, [] { return std::make_unique<ProfileChild>(); });

}  // namespace
}  // namespace deepgap
