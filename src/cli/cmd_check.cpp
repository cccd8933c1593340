// deepgap check: how far an engine's outputs are from the FP32 reference, another engine's, or an ONNX test folder's.
#include "base/subprocess.h"
#include "base/text.h"
#include "cli/child.h"
#include "cli/class_scores.h"
#include "cli/command.h"
#include "cli/libtorch_folder.h"
#include "dataset/kinds.h"
#include "model/onnx_reader.h"
#include "plan/study.h"
#include "run/run_study.h"
#include "telemetry/environment.h"
#include "worker/check.h"
#include "worker/plugin.h"
#include "worker/protocol.h"
#include "worker/quantize_order.h"
#include "worker/sample_outputs.h"

#include <deepgap/error.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstring>
#include <filesystem>
#include <optional>

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
  Outputs outputs;
  const nlohmann::json done = ask_child("__outputs", outputs_request_to_json(request), request.backend, "ran the samples",
                                        [&](const Frame& frame) { outputs.samples.push_back(sample_from(frame)); });
  outputs.version = done.at("version");
  return outputs;
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

// Top-1 agreement on the samples of which the reference itself is sure: its best class is `margin` more probable than its second.
struct Confident {
  int64_t samples = 0, same = 0;
  std::optional<double> agreement() const {
    if (samples == 0) return std::nullopt;
    return static_cast<double>(same) / static_cast<double>(samples);
  }
};
Confident confident_agreement(const Outputs& expected, const Outputs& actual, double margin) {
  Confident result;
  for (size_t i = 0; i < actual.samples.size(); ++i) {
    if (!is_class_output(expected.samples[i].outputs) || !is_class_output(actual.samples[i].outputs)) continue;
    const auto best = best_classes(expected.samples[i].outputs[0], 2);
    if (best[0].probability - best[1].probability < margin) continue;
    ++result.samples;
    if (best_classes(actual.samples[i].outputs[0], 1)[0].index == best[0].index) ++result.same;
  }
  return result;
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
    app.add_option("--dataset", request_.dataset, "seeded, zeros, pictures, crops, a folder or a file; left out: seeded")
        ->type_name("NAME|PATH");
    app.add_option("-w,--weights", request_.model.weights, "seeded, a named set (imagenet), or a safetensors file")->type_name("NAME|FILE");
    app.add_option("-t,--threads", request_.threads, "Of the engine; left out: the CPUs allowed here")->type_name("N");
    app.add_option("--isa", isa_, "Most that the native engine may use: auto, avx2, avx512, avx512_vnni, avx512_bf16, amx")
        ->type_name("NAME");
    app.add_option("--shape", shapes_, "Sizes of an input that leaves them open: input:1x3x224x224")->type_name("INPUT:DIMS");
    app.add_option("--quantize", quantize_, "How an FP32 model is quantized for int8: method=entropy (deepgap quantize --help)")
        ->type_name("NAME=VALUE");
    app.add_option("--cache", request_.cache_dir, "Folder of made weights and quantized models")->type_name("DIR");
    declare_libtorch_folder(app);
    app.add_flag("--nodes", request_.nodes, "Each node alone on the reference's own values, 4 samples at most, instead of the outputs");
    app.add_option("--margin", margin_,
                   "Tell top-1 agreement also on samples whose best class is so much more probable than the second: 0.1")
        ->type_name("SHARE");
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
    if (request_.precision == "int8") provide_quantized();
    if (request_.nodes) return run_nodes();
    const Outputs actual = outputs_of(request_);
    const Outputs expected = folder ? outputs_in_folder(against_) : outputs_of(other_side());
    const CheckResult result = compare(expected, actual, min_sqnr_db(request_.precision));
    std::optional<Confident> confident;
    if (margin_) confident = confident_agreement(expected, actual, *margin_);
    print(result, actual, confident);
    return result.pass ? exit_ok : exit_points_failed;
  }

 private:
  void prepare(bool against_folder) {
    require_backend_name(request_.backend);
    if (!against_.empty() && !against_folder) require_backend_name(against_);
    require_precision(request_.precision);
    if (margin_ && (*margin_ < 0 || *margin_ > 1)) throw Error(ErrorKind::usage, "--margin must be 0 to 1");
    if (request_.nodes && !against_.empty()) throw Error(ErrorKind::usage, "--nodes compares with the FP32 reference: leave --against out");
    if (request_.samples < 1 || request_.samples > 100'000) throw Error(ErrorKind::usage, "--samples must be 1 to 100000");
    if (request_.threads < 0) throw Error(ErrorKind::usage, "--threads must be 1 or more");
    if (request_.threads == 0) request_.threads = static_cast<int>(allowed_cpus().size());
    for (const std::string& shape : shapes_) add_shape(shape);
    request_.cache_dir = std::filesystem::absolute(request_.cache_dir.empty() ? default_cache_dir() : request_.cache_dir).string();
    std::map<std::string, std::string> options;
    for (const std::string& text : quantize_) {
      const size_t equals = text.find('=');
      if (equals == std::string::npos) throw Error(ErrorKind::usage, fmt::format("--quantize '{}' is not NAME=VALUE", text));
      options[text.substr(0, equals)] = text.substr(equals + 1);
    }
    request_.quantize = quantize_settings(options, "--quantize ");
    if (isa_.empty()) return;
    if (request_.backend != "native") throw Error(ErrorKind::usage, fmt::format("--isa is for --backend native, not {}", request_.backend));
    request_.options["isa"] = isa_;
  }

  // Into the cache, by a child of its own: it runs an engine.
  void provide_quantized() const {
    QuantizeOrder order;
    order.model = request_.model;
    order.model.cache_dir = request_.cache_dir;
    order.settings = request_.quantize;
    order.point_dataset = request_.dataset;
    order.threads = request_.threads;
    ask_child("__quantize", quantize_order_to_json(order), "the child process", fmt::format("quantized {}", request_.model.name));
  }

  // Every node must reach what the precision asks for, and a node in levels what would keep it out of them.
  int run_nodes() {
    const nlohmann::json done = ask_child("__outputs", outputs_request_to_json(request_), request_.backend, "ran the nodes");
    const double asked = request_.precision == "int8" ? request_.quantize.min_sqnr_db : min_sqnr_db(request_.precision);
    int64_t below = 0;
    for (const auto& node : done.at("nodes")) below += node.at("sqnr_db").get<double>() < asked ? 1 : 0;
    const bool pass = below == 0 && !done.at("nodes").empty();
    if (json_) {
      const nlohmann::json json{{"model", request_.model.name},
                                {"backend", done.at("version")},
                                {"against", "FP32 reference, node by node"},
                                {"precision", request_.precision},
                                {"samples", done.at("samples")},
                                {"min_sqnr_db", asked},
                                {"nodes", done.at("nodes")},
                                {"pass", pass}};
      fmt::print("{}\n", json.dump(2));
      return pass ? exit_ok : exit_points_failed;
    }
    fmt::print("{} {} on {}, each node alone on the reference's values: {} of {} nodes below {:.0f} dB\n",
               done.at("version").get<std::string>(), request_.precision, request_.model.name, below, done.at("nodes").size(), asked);
    for (const auto& node : done.at("nodes")) {
      fmt::print("  {:7.1f} dB  {:<18} {}{}\n", node.at("sqnr_db").get<double>(), node.at("op").get<std::string>(),
                 node.at("name").get<std::string>(), request_.precision != "int8" || node.at("quantized").get<bool>() ? "" : "  (in FP32)");
    }
    return pass ? exit_ok : exit_points_failed;
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

  void print(const CheckResult& result, const Outputs& actual, const std::optional<Confident>& confident) const {
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
      if (confident) {
        json["margin"] = *margin_;
        json["confident_samples"] = confident->samples;
        json["confident_top1_agreement"] = nullptr;
        if (confident->agreement()) json["confident_top1_agreement"] = *confident->agreement();
      }
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
    if (confident && confident->agreement()) {
      fmt::print("  of {} sure samples  {:.1f} % (margin {:g} or more)\n", confident->samples, 100 * *confident->agreement(), *margin_);
    }
    if (request_.dataset == "seeded" || request_.dataset == "zeros") return;
    for (const Sample& sample : actual.samples) {
      if (is_class_output(sample.outputs)) fmt::print("  {:<19}{}\n", sample.name, top_classes(sample.outputs[0]));
    }
  }

  OutputsRequest request_;
  std::string against_;
  std::string isa_;
  std::vector<std::string> shapes_, quantize_;
  std::optional<double> margin_;
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
