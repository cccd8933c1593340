#include "cli/engine_flags.h"

#include "base/messages.h"
#include "cli/axis_values.h"
#include "cli/child.h"
#include "cli/shape_flag.h"
#include "plan/study.h"
#include "plan/usual_names.h"
#include "record/record_json.h"
#include "run/read_in_child.h"
#include "run/run_study.h"
#include "telemetry/environment.h"
#include "worker/input_values.h"
#include "worker/plugin.h"
#include "worker/reading.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <filesystem>

namespace deepgap {
namespace {

constexpr const char* quantize_command = "__quantize";

std::map<std::string, std::string> named_values(const std::string& flag, const std::vector<std::string>& texts) {
  std::map<std::string, std::string> values;
  for (const std::string& text : texts) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0)
      throw Error(ErrorKind::usage, fmt::format("invalid value '{1}' for {0}: expected NAME=VALUE", flag, text));
    values[text.substr(0, equals)] = text.substr(equals + 1);
  }
  return values;
}

const bool registered = add_child_command(
    quantize_command, [](const nlohmann::json& order, FrameWriter& /*before*/) { return carry_out(quantize_order_from_json(order)); });

}  // namespace

void EngineFlags::declare(CLI::App& app, OutputsRequest& request) {
  request.backend = "native";
  request.threads = 0;
  app.add_option("model", request.model.name, "Zoo name (deepgap models) or ONNX file")->type_name("NAME|FILE")->required();
  app.add_option("-e,--backend", request.backend, "Engine (see deepgap backends) [default: native]")->type_name("NAME");
  app.add_option("-d,--device", device_, "Device: cpu, cuda:0 ... [default: cpu]")->type_name("NAME");
  app.add_option("-p,--precision", precision_, "Precision: fp32, bf16 ... [default: fp32]")->type_name("NAME");
  app.add_option("-t,--threads", request.threads, "Engine threads [default: all allowed CPUs]")->type_name("N");
  app.add_option("--option", options_, "Set an option of the engine: NAME=VALUE")
      ->type_name("NAME=VALUE")
      ->take_all()
      ->allow_extra_args(false);
  app.add_option("--isa", isa_,
                 "Newest instruction set that the native engine may use: auto, avx2, avx512, avx512_vnni, avx512_bf16, amx "
                 "[default: auto]")
      ->type_name("NAME");
  app.add_option("--dataset", request.dataset, "Dataset: seeded, zeros, pictures, crops, a folder or a file [default: seeded]")
      ->type_name("NAME|PATH");
  app.add_option("-w,--weights", request.model.weights, "Weights: seeded, a named set (imagenet), or a safetensors file [default: seeded]")
      ->type_name("NAME|FILE");
  app.add_option("--shape", shapes_, "Set sizes of an input that leaves them open: input:1x3x224x224")->type_name("INPUT:DIMS");
  app.add_option("--input", inputs_, input_flag_describe)->type_name("NAME=NUMBERS")->take_all()->allow_extra_args(false);
  app.add_option("--quantize", quantize_, "Set how an FP32 model is quantized for int8: method=entropy (see deepgap quantize --help)")
      ->type_name("NAME=VALUE");
  app.add_option("--cache", cache_, "Keep weights, quantized models and measured peaks in this folder [default: ~/.cache/deepgap]")
      ->type_name("DIR");
}

void EngineFlags::finish(OutputsRequest& request, const std::string& of_server) const {
  request.model.name = usual_model(request.model.name);
  request.backend = usual_name("backend", request.backend);
  if (request.backend.find(',') != std::string::npos)
    throw Error(ErrorKind::usage, fmt::format("--backend {}: this command takes one engine; deepgap run takes several", request.backend));
  require_backend_name(request.backend);
  if (!precision_.empty()) request.precision = precision_named(usual_name("precision", precision_));
  request.device = device_of_flag(device_.empty() ? "cpu" : device_);
  if (is_remote(request.device)) throw Error(ErrorKind::usage, fmt::format("--device {} is a server{}", device_, of_server));
  request.threads = threads_or_all(request.threads);
  request.cache_dir = cache_or_default(cache_);
  request.model.shapes = parse_shapes(joined_shapes(shapes_));
  request.model.numbers = parse_input_numbers(joined_input_numbers(inputs_));
  request.quantize = quantize_options().parse(named_values("--quantize", quantize_), "--quantize ");
  request.options = named_values("--option", options_);
  if (isa_.empty()) return;
  if (request.backend != "native") throw Error(ErrorKind::usage, fmt::format("--isa goes with --backend native, not {}", request.backend));
  request.options["isa"] = isa_;
}

DeviceId device_of_flag(const std::string& text) {
  const auto device = device_from(usual_name("device", text));
  if (device && (device->kind == "cpu" || device->kind == "cuda" || is_remote(*device))) return *device;
  throw Error(ErrorKind::usage, invalid_value(text, "--device", "a device such as cpu or cuda:0"));
}

int threads_or_all(int threads) {
  if (threads < 0 || threads > 4096)
    throw Error(ErrorKind::usage, invalid_value(std::to_string(threads), "--threads", "a number from 1 to 4096, such as 8"));
  return threads == 0 ? static_cast<int>(allowed_cpus().size()) : threads;
}

std::string cache_or_default(const std::string& folder) {
  return std::filesystem::absolute(folder.empty() ? default_cache_dir() : folder).string();
}

nlohmann::json quantize_in_child(const QuantizeOrder& order) {
  return call_child({quantize_command, "quantizing " + order.model.name, quantize_order_to_json(order)});
}

void look_at(const OutputsRequest& request) {
  if (!reads_files(request)) return;
  read_in_child({{"kind", "inputs"}, {"request", outputs_request_to_json(request)}}, request.model.name,
                {request.model.name, request.model.weights, request.dataset});
}

void provide_quantized(const OutputsRequest& request) {
  if (request.precision != Precision::int8) return;
  QuantizeOrder order;
  order.model = request.model;
  order.model.cache_dir = request.cache_dir;
  order.settings = request.quantize;
  order.point_dataset = request.dataset;
  order.threads = request.threads;
  quantize_in_child(order);
}

}  // namespace deepgap
