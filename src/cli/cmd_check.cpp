// deepgap check: how far an engine's outputs are from the FP32 reference, another engine's, or an ONNX test folder's.
#include "base/subprocess.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/libtorch_folder.h"
#include "dataset/kinds.h"
#include "model/onnx_reader.h"
#include "plan/study.h"
#include "telemetry/environment.h"
#include "worker/check.h"
#include "worker/plugin.h"
#include "worker/protocol.h"
#include "worker/sample_outputs.h"

#include <deepgap/error.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <cstring>
#include <filesystem>

namespace deepgap {
namespace {

struct Sample {
  std::string name;
  std::vector<Tensor> outputs;
};
struct Outputs {
  std::string version;
  std::vector<Sample> samples;
};

Sample sample_from(const Frame& frame) {
  Sample sample{frame.header.at("name"), {}};
  size_t block = 0;
  for (const auto& output : frame.header.at("outputs")) {
    Tensor tensor = make_tensor(static_cast<DataType>(output.at("type").get<int>()), output.at("shape").get<Shape>());
    const std::string& bytes = frame.blocks.at(block++);
    if (bytes.size() != tensor.bytes()) throw Error(ErrorKind::internal, "an output came with the wrong number of bytes");
    std::memcpy(writable<std::byte>(tensor).data(), bytes.data(), bytes.size());
    sample.outputs.push_back(std::move(tensor));
  }
  return sample;
}

// Each engine in a child of its own: what it prints, allocates or crashes stays there.
Outputs outputs_of(const OutputsRequest& request) {
  SubprocessOptions options;
  options.program = std::filesystem::read_symlink("/proc/self/exe").string();
  options.arguments = {"deepgap", "__outputs"};
  options.channel = true;
  Subprocess child(options);
  FrameWriter(child.channel()).write({outputs_request_to_json(request), {}});
  FrameReader reader(child.channel());
  Outputs outputs;
  while (const auto frame = reader.read()) {
    const std::string kind = frame->header.at("kind");
    if (kind == "sample") outputs.samples.push_back(sample_from(*frame));
    if (kind == "error") throw Error(static_cast<ErrorKind>(frame->header.at("error").get<int>()), frame->header.at("message"));
    if (kind == "done") {
      outputs.version = frame->header.at("version");
      return outputs;
    }
  }
  const auto state = child.wait(std::chrono::seconds(10));
  throw Error(ErrorKind::refused, fmt::format("{} {} while it ran the samples: {}", request.backend,
                                              state ? state->describe() : "stopped answering", trim(child.output_tail())));
}

Outputs outputs_in_folder(const std::string& folder) {
  Outputs outputs{folder, {}};
  for (const std::string& set : onnx_test_sets(folder)) {
    Sample sample{std::filesystem::path(set).filename().string(), {}};
    for (int i = 0; std::filesystem::exists(fmt::format("{}/output_{}.pb", set, i)); ++i) {
      sample.outputs.push_back(read_tensor_proto(fmt::format("{}/output_{}.pb", set, i)));
    }
    if (sample.outputs.empty()) throw Error(ErrorKind::input, fmt::format("{} has no output_0.pb to check against", set));
    outputs.samples.push_back(std::move(sample));
  }
  return outputs;
}

CheckResult compare(const Outputs& expected, const Outputs& actual, double min_db) {
  if (expected.samples.size() != actual.samples.size()) throw Error(ErrorKind::internal, "both sides ran another number of samples");
  OutputComparison comparison;
  for (size_t i = 0; i < actual.samples.size(); ++i) {
    const auto& want = expected.samples[i].outputs;
    const auto& got = actual.samples[i].outputs;
    if (want.size() != got.size()) {
      throw Error(ErrorKind::input, fmt::format("sample {}: {} outputs against {}", actual.samples[i].name, got.size(), want.size()));
    }
    for (size_t output = 0; output < want.size(); ++output) comparison.add(output, want[output].view(), got[output].view());
  }
  CheckResult result = comparison.result(min_db);
  result.against = expected.version;
  result.samples = static_cast<int64_t>(actual.samples.size());
  return result;
}

// The five largest entries of a class output with their softmax, for people who know what the picture shows.
std::string top_classes(const Tensor& output) {
  const auto values = output.as<float>();
  std::vector<size_t> order(values.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  const size_t shown = std::min<size_t>(3, order.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(shown), order.end(),
                    [&](size_t a, size_t b) { return values[a] > values[b]; });
  double sum = 0;
  for (const float value : values) sum += std::exp(double{value} - values[order[0]]);
  std::string text;
  for (size_t i = 0; i < shown; ++i)
    text += fmt::format(" {} ({:.3f})", order[i], std::exp(double{values[order[i]]} - values[order[0]]) / sum);
  return text;
}

bool is_class_output(const Sample& sample) {
  return sample.outputs.size() == 1 && sample.outputs[0].type == DataType::f32 && sample.outputs[0].shape.size() == 2 &&
         sample.outputs[0].shape[1] >= 10;
}

class CheckCommand : public Command {
 public:
  std::string name() const override { return "check"; }
  std::string describe() const override { return "Compare an engine's outputs with the FP32 reference, another engine's or a folder's"; }

  void declare(CLI::App& app) override {
    app.add_option("model", request_.model.name, "Zoo name (deepgap models) or ONNX file")->type_name("NAME|FILE")->required();
    app.add_option("-e,--backend", request_.backend, "Engine to check (deepgap backends); left out: native")->type_name("NAME");
    app.add_option("--against", against_, "Engine, or folder in the layout of ONNX's tests; left out: the FP32 reference")
        ->type_name("NAME|FOLDER");
    app.add_option("-p,--precision", request_.precision, "Of the checked engine; left out: fp32")->type_name("NAME");
    app.add_option("--samples", request_.samples, "How many; left out: 8")->type_name("N");
    app.add_option("--dataset", request_.dataset, "seeded, zeros, pictures, a folder or a file; left out: seeded")->type_name("NAME|PATH");
    app.add_option("-w,--weights", request_.model.weights, "seeded, a named set (imagenet), or a safetensors file")->type_name("NAME|FILE");
    app.add_option("-t,--threads", request_.threads, "Of the engine; left out: the CPUs allowed here")->type_name("N");
    app.add_option("--isa", isa_, "Most that the native engine may use: auto, avx2, avx512, avx512_vnni, avx512_bf16, amx")
        ->type_name("NAME");
    app.add_option("--shape", shapes_, "Sizes of an input that leaves them open: input:1x3x224x224")->type_name("INPUT:DIMS");
    app.add_option("--cache", request_.cache_dir, "Folder that keeps weights once they are made")->type_name("DIR");
    declare_libtorch_folder(app);
    app.add_flag("--json", json_, "The comparison as a JSON object, for programs");
    app.footer("SQNR, the ratio of the signal to the error, is in dB: higher is better. Exit code 0: they agree, 1: they differ.");
    request_.backend = "native";
    request_.threads = 0;
  }

  int run() override {
    const bool folder = std::filesystem::is_directory(against_);
    prepare(folder);
    if (folder) {
      if (!is_onnx_folder(against_)) throw Error(ErrorKind::input, fmt::format("{} holds no input_0.pb and no test_data_set_0", against_));
      request_.dataset = against_;
      request_.samples = static_cast<int64_t>(onnx_test_sets(against_).size());
    }
    const Outputs actual = outputs_of(request_);
    const Outputs expected = folder ? outputs_in_folder(against_) : outputs_of(other_side());
    const CheckResult result = compare(expected, actual, min_sqnr_db(request_.precision));
    print(result, actual);
    return result.pass ? exit_ok : exit_points_failed;
  }

 private:
  void prepare(bool against_folder) {
    require_backend_name(request_.backend);
    if (!against_.empty() && !against_folder) require_backend_name(against_);
    require_precision(request_.precision);
    if (request_.samples < 1 || request_.samples > 100'000) throw Error(ErrorKind::usage, "--samples must be 1 to 100000");
    if (request_.threads < 0) throw Error(ErrorKind::usage, "--threads must be 1 or more");
    if (request_.threads == 0) request_.threads = static_cast<int>(allowed_cpus().size());
    for (const std::string& shape : shapes_) add_shape(shape);
    if (isa_.empty()) return;
    if (request_.backend != "native") throw Error(ErrorKind::usage, fmt::format("--isa is for --backend native, not {}", request_.backend));
    request_.options["isa"] = isa_;
  }

  void add_shape(const std::string& text) {
    const auto colon = text.rfind(':');
    std::vector<int64_t> dims;
    for (const std::string& part : split(colon == std::string::npos ? "" : text.substr(colon + 1), 'x')) {
      const auto size = parse_int(part);
      if (!size) throw Error(ErrorKind::usage, fmt::format("--shape {} is not INPUT:1x3x224x224", text));
      dims.push_back(*size);
    }
    request_.model.shapes[text.substr(0, colon)] = dims;
  }

  OutputsRequest other_side() const {
    OutputsRequest other = request_;
    other.backend = against_.empty() ? reference_backend : against_;
    other.precision = "fp32";
    other.options.clear();
    return other;
  }

  void print(const CheckResult& result, const Outputs& actual) const {
    if (json_) {
      nlohmann::json json{{"model", request_.model.name},
                          {"backend", actual.version},
                          {"against", result.against},
                          {"precision", request_.precision},
                          {"max_abs_error", result.max_abs_error},
                          {"mean_abs_error", result.mean_abs_error},
                          {"sqnr_db", result.sqnr_db},
                          {"top1_agreement", nullptr},
                          {"samples", result.samples},
                          {"min_sqnr_db", min_sqnr_db(request_.precision)},
                          {"pass", result.pass}};
      if (result.top1_agreement) json["top1_agreement"] = *result.top1_agreement;
      fmt::print("{}\n", json.dump(2));
      return;
    }
    fmt::print("{} {} on {} against {}: {}\n", actual.version, request_.precision, request_.model.name, result.against,
               result.pass ? "agrees" : "DIFFERS");
    fmt::print("  samples             {}\n  largest error       {:.3g}\n  mean error          {:.3g}\n", result.samples,
               result.max_abs_error, result.mean_abs_error);
    fmt::print("  SQNR                {:.1f} dB (asked for {}: {:.0f} dB)\n", result.sqnr_db, request_.precision,
               min_sqnr_db(request_.precision));
    if (result.top1_agreement) fmt::print("  top-1 agreement     {:.1f} %\n", 100 * *result.top1_agreement);
    if (request_.dataset == "seeded" || request_.dataset == "zeros") return;
    for (const Sample& sample : actual.samples) {
      if (is_class_output(sample)) fmt::print("  {:<19}{}\n", sample.name, top_classes(sample.outputs[0]));
    }
  }

  OutputsRequest request_;
  std::string against_;
  std::vector<std::string> shapes_;
  std::string isa_;
  bool json_ = false;
};

class OutputsCommand : public Command {
 public:
  std::string name() const override { return "__outputs"; }
  std::string describe() const override { return "child of `check`"; }
  bool hidden() const override { return true; }
  void declare(CLI::App&) override {}
  int run() override { return serve_outputs(channel_descriptor); }
};

const bool check_registered = Registry<Command>::instance().add("check", [] { return std::make_unique<CheckCommand>(); });
const bool outputs_registered = Registry<Command>::instance().add("__outputs", [] { return std::make_unique<OutputsCommand>(); });

}  // namespace
}  // namespace deepgap
