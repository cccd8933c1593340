// deepgap profile: where the time of a network goes, layer by layer, and how near each layer is to what the machine can do.
#include "base/console.h"
#include "base/dump_json.h"
#include "base/file.h"
#include "base/messages.h"
#include "cli/child.h"
#include "cli/command.h"
#include "cli/engine_flags.h"
#include "cli/machine_ceilings.h"
#include "cli/written_paths.h"
#include "kernels/families.h"
#include "kernels/trace_json.h"
#include "profile/show.h"
#include "profile/work_table.h"
#include "record/record_json.h"
#include "report/profile_page.h"
#include "telemetry/environment.h"
#include "worker/profile_layers.h"
#include "worker/watch_device.h"

#include <deepgap/error.h>

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace deepgap {
namespace {

using nlohmann::json;

constexpr const char* profile_command = "__profile";

size_t output_width() {
  winsize size{};
  const bool terminal = ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return terminal ? std::clamp<size_t>(size.ws_col, 80, 160) : 120;
}

class ProfileCommand : public Command {
 public:
  void declare(CLI::App& app) override {
    OutputsRequest& engine = request_.engine;
    flags_.declare(app, engine);
    engine.samples = 4;
    batch_ = app.add_option("-b,--batch", request_.batch, "Samples per query [default: 1, or the model's fixed batch]")->type_name("N");
    app.add_option("--rounds", request_.rounds,
                   "Number of runs, 1 to 100000; the faster half counts [default: as many as fit into 5 s, at most 100]")
        ->type_name("N");
    app.add_option("--top", top_, "Show only the N slowest layers, slowest first")->type_name("N");
    app.add_option("--families", families_, "Apply your own rules for kernel families before deepgap's")->type_name("FILE");
    app.add_flag("!--no-kernels", request_.watch, "Do not trace the GPU's kernels, and count nothing");
    app.add_flag("!--no-counters", request_.count, "Do not read the GPU's counters");
    app.add_option("-o,--output", output_, "Write an HTML page with roofline, timeline and what to do next")->type_name("FILE.html");
    app.add_option("--trace", trace_, "Write a trace of one batch on the GPU, for ui.perfetto.dev")->type_name("FILE");
    app.add_flag("--fresh-ceilings", fresh_, "Measure the machine's peaks again instead of using kept ones");
    app.add_flag("--json", json_, "Print JSON");
    app.footer("\"of roof\": the least time that the measured peaks allow, divided by the time taken.");
  }

  int run() override {
    prepare();
    const Families families(families_.empty() ? std::string() : read_text(families_), families_);
    look_at(request_.engine);
    provide_quantized(request_.engine);
    const Facts environment = capture_environment();
    // The ceilings come before the engine: its threads would be in the way.
    const ShownCeilings machine =
        machine_ceilings({request_.engine.device, request_.engine.threads}, environment, request_.engine.cache_dir, fresh_);
    LayerProfile profile = taken();
    assign_families(families, profile);
    if (!trace_.empty()) write_trace(profile);
    const std::string precision(name_of(request_.engine.precision));
    const ProfileRows rows = profile_rows(profile, machine.ceilings, precision, last_cache_bytes(environment));
    const ProfileHeader header{request_.engine.model.name, precision, profile.batch, request_.engine.threads,
                               device_name(request_.engine.device)};
    if (!output_.empty()) write_file_atomic(output_, profile_page(header, profile, rows, machine));
    if (json_) {
      fmt::print("{}", dump_indented(profile_json(header, profile, rows, machine)));
    } else {
      print_text(profile_text(header, profile, rows, machine, output_width(), top_));
    }
    return exit_ok;
  }

 private:
  void prepare() {
    flags_.finish(request_.engine, ", which cannot be profiled from outside: deepgap run --backend kserve measures how long it takes");
    const auto within = [](const char* flag, int64_t value, int64_t most, int64_t example) {
      constexpr int64_t least = 1;
      if (value < least || value > most)
        throw Error(ErrorKind::usage,
                    invalid_value(std::to_string(value), flag, fmt::format("a number from {} to {}, such as {}", least, most, example)));
    };
    if (batch_->count() > 0) within("--batch", request_.batch, 65'536, 8);
    require_folder_of("--output", output_);
    require_folder_of("--trace", trace_);
    if (!trace_.empty() && request_.engine.device.kind != "cuda")
      throw Error(ErrorKind::usage, "--trace shows what a GPU did: add --device cuda:N");
    if (request_.rounds != 0) within("--rounds", request_.rounds, 100'000, 20);
  }

  LayerProfile profile_in_child() const {
    return layer_profile_from_json(
        call_child({profile_command, fmt::format("{} with {}", request_.engine.backend, request_.engine.model.name),
                    profile_request_to_json(request_)}));
  }
  LayerProfile taken() {
    if (request_.engine.device.kind != "cuda" || !request_.watch) return profile_in_child();
    return taken_with_less(request_.watch, request_.count, [&] { return profile_in_child(); });
  }
  void write_trace(const LayerProfile& profile) const {
    if (!profile.trace) throw Error(ErrorKind::refused, fmt::format("cannot write a trace: {}", profile.trace_missing));
    write_file_atomic(trace_, dump_ascii_line(trace_events(*profile.trace, request_.engine.model.name)));
  }

  ProfileRequest request_;
  CLI::Option* batch_ = nullptr;
  EngineFlags flags_;
  std::string families_, trace_, output_;
  size_t top_ = 0;
  bool fresh_ = false, json_ = false;
};

const bool profile_registered =
    add_command<ProfileCommand>({"profile",
                                 {CommandGroup::explain, 1},
                                 "Show where a network's time goes, layer by layer, beside the measured peak",
                                 "  deepgap profile resnet50 -e native\n"
                                 "  deepgap profile net.onnx -e onnxruntime --json\n",
                                 {"--backend", "--device", "--precision", "--batch", "--top", "--output", "--trace", "--json"}});
const bool child_registered = add_child_command(profile_command, [](const json& request, FrameWriter& /*before*/) {
  return layer_profile_to_json(profile_layers(profile_request_from_json(request)));
});

}  // namespace
}  // namespace deepgap
