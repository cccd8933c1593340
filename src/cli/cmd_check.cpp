// deepgap check: how far an engine's outputs are from the FP32 reference, another engine's, or an ONNX test folder's.
#include "base/console.h"
#include "base/dump_json.h"
#include "base/file.h"
#include "base/messages.h"
#include "base/words.h"
#include "cli/axis_values.h"
#include "cli/checked_outputs.h"
#include "cli/class_scores.h"
#include "cli/command.h"
#include "cli/confined.h"
#include "cli/engine_flags.h"
#include "cli/libtorch_folder.h"
#include "cli/selection_flags.h"
#include "cli/stored_checks.h"
#include "cli/text_check.h"
#include "dataset/npy.h"
#include "model/onnx_test_set.h"
#include "model/zoo/zoo.h"
#include "plan/usual_names.h"
#include "run/progress.h"
#include "worker/node_verdict.h"
#include "worker/plugin.h"
#include "worker/saturation_note.h"

#include <deepgap/error.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <optional>

namespace deepgap {
namespace {

// Numbers of eight bits, rounded at every step, are some 50 dB from the same rounded once.
constexpr double min_sqnr_db_of_bf16 = 40;

double asked_db(const CheckedOutputs& expected, Precision judged_as) {
  double asked = min_sqnr_db(judged_as);
  for (const CheckedSample& sample : expected.samples)
    for (const Tensor& output : sample.outputs)
      if (output.type == DataType::bf16) asked = std::min(asked, min_sqnr_db_of_bf16);
  return asked;
}

class CheckCommand : public Command {
 public:
  void declare(CLI::App& app) override {
    flags_.declare(app, request_);
    app.get_option("model")->description(
        "Zoo name (deepgap models), ONNX file, GGUF file with --text, or a store whose recorded checks are shown");
    app.add_option("stores", more_stores_, "Read these stores too, if the first argument is a store")->type_name("STORE");
    app.add_option("--against", against_,
                   "Compare with this engine, with a folder in the layout of ONNX tests or, with --text, with this network [default: "
                   "the FP32 reference]")
        ->type_name("NAME|PATH");
    samples_ = app.add_option("--samples", request_.samples, "Number of samples, with --text of chunks [default: 8, all chunks]");
    samples_->type_name("N");
    app.add_option("--text", text_, "Measure the perplexity of a network that generates tokens on this text")->type_name("FILE");
    declare_libtorch_folder(app);
    app.add_flag("--nodes", nodes_, "Check each node alone on the reference's values, with at most 4 samples");
    app.add_option("--margin", margin_,
                   "Report top-1 agreement for samples whose best class leads by at least this probability, such as 0.1")
        ->type_name("PERCENT");
    app.add_option("--outputs", outputs_, "Write the engine's outputs to FOLDER as sample0-output0.npy and so on")->type_name("FOLDER");
    app.add_flag("--json", json_, "Print JSON");
    which_.declare(app);
    app.footer(
        "SQNR is the ratio of signal to error in dB: higher is better. Exit code 0: outputs agree, or nothing can be compared (unchecked); "
        "1: they differ. --text judges nothing.");
  }

  Features features() const override {
    Features features = given;
    if (names_store()) features.emplace("store", "");
    return features;
  }

  int run() override {
    if (names_store()) return run_stores();
    if (!which_.given().empty())
      throw Error(ErrorKind::usage,
                  fmt::format("{} selects records of a store, and '{}' is not a store", which_.given(), request_.model.name));
    if (!more_stores_.empty())
      throw Error(ErrorKind::usage, fmt::format("check takes one model, or stores; '{}' is not a store", request_.model.name));
    if (!text_.empty()) return run_text();
    const bool folder = std::filesystem::is_directory(against_);
    if (!folder && against_.find('/') != std::string::npos)
      throw Error(ErrorKind::usage, fmt::format("--against: folder {} does not exist", against_));
    prepare(folder);
    if (folder) {
      const auto sets = static_cast<int64_t>(onnx_test_sets(against_).size());
      if (sets == 0) throw Error(ErrorKind::input, fmt::format("{} contains neither input_0.pb nor test_data_set_0", against_));
      request_.dataset = against_;
      request_.samples = sets;
    }
    look_at(request_);
    provide_quantized(request_);
    if (nodes_) return run_nodes();
    const CheckedOutputs actual = outputs_of(request_);
    keep(actual);
    if (!actual.random.empty()) return print_unchecked(actual, random_words(actual.random));
    const CheckedOutputs expected = folder ? outputs_in_folder(against_, actual.names) : outputs_of(other_side());
    if (!folder) require_no_nan(expected);
    CheckResult result = compare(expected, actual, asked_db(expected, actual.judged_as));
    if (is_empty(actual)) return print_unchecked(actual, "all outputs are empty, so that nothing can be compared");
    std::optional<Confident> confident;
    if (margin_) confident = confident_agreement(expected, actual, *margin_);
    if (!result.pass && !expected.overflow.empty()) return print_unchecked(actual, overflow_words(expected.overflow));
    std::string wrong = result.pass ? "" : mismatch_words(result, actual.judged_as);
    if (!result.pass && against_.empty() && is_chaotic(request_.model.name, request_.model.weights)) wrong = judge_by_nodes(result);
    if (!wrong.empty()) wrong += saturation_note(request_.backend, request_.device, actual.judged_as);
    print(result, actual, confident, wrong);
    return result.pass ? exit_ok : exit_points_failed;
  }

 private:
  bool names_store() const { return is_store_file(request_.model.name) || request_.model.name.ends_with(".db"); }

  int run_text() {
    prepare(true);
    request_.model.task = Task::generate;
    request_.dataset = text_;
    return check_text({request_, usual_model(against_), samples_->count() > 0 ? request_.samples : 0}, json_);
  }

  // What was measured is compared already.
  int run_stores() const {
    std::vector<std::string> stores{request_.model.name};
    stores.insert(stores.end(), more_stores_.begin(), more_stores_.end());
    const Selection selection = which_.selection();
    return work_confined(limits_of_stores(stores, ""), [&] { return print_stored_checks(stores, selection, json_); });
  }

  void prepare(bool against_folder) {
    flags_.finish(request_, ": deepgap run --backend kserve --reference FILE.onnx compares its outputs");
    if (!against_folder) against_ = usual_name("backend", against_);
    if (!against_.empty() && !against_folder) require_backend_name(against_);
    if (margin_ && (*margin_ < 0 || *margin_ > 1))
      throw Error(ErrorKind::usage, invalid_value(fmt::format("{:g}", *margin_), "--margin", "a number from 0 to 1, such as 0.1"));
    if (!outputs_.empty()) make_directories(outputs_);  // before anything is computed
    if (request_.samples < 1 || request_.samples > 100'000)
      throw Error(ErrorKind::usage, invalid_value(std::to_string(request_.samples), "--samples", "a number from 1 to 100000, such as 8"));
  }

  void keep(const CheckedOutputs& answered) const {
    for (size_t sample = 0; sample < answered.samples.size() && !outputs_.empty(); ++sample) {
      const auto& outputs = answered.samples[sample].outputs;
      for (size_t i = 0; i < outputs.size(); ++i) write_npy(fmt::format("{}/sample{}-output{}.npy", outputs_, sample, i), outputs[i]);
    }
  }

  // Every node must reach what the precision asks for, and a node in levels what would keep it out of them.
  int run_nodes() {
    const nlohmann::json done = nodes_of(request_);
    const double asked = asked_of_nodes();
    int64_t below = 0, with_levels = 0;
    nlohmann::json worst, furthest;  // null: no nodes; none that ends in levels of the file
    for (const auto& node : done.at("nodes")) {
      const auto sqnr_db = node.at("sqnr_db").get<double>();
      below += sqnr_db < asked ? 1 : 0;
      if (worst.is_null() || sqnr_db < worst.get<double>()) worst = sqnr_db;
      if (const auto& quanta = node.at("quanta"); !quanta.is_null()) {
        ++with_levels;
        if (furthest.is_null() || quanta.get<double>() > furthest.get<double>()) furthest = quanta;
      }
    }
    const bool pass = below == 0 && !done.at("nodes").empty();
    if (json_) {
      const nlohmann::json json{{"model", request_.model.name},
                                {"backend", done.at("version")},
                                {"against", "FP32 reference, node by node"},
                                {"precision", name_of(request_.precision)},
                                {"samples", done.at("samples")},
                                {"min_sqnr_db", asked},
                                {"nodes_below", below},
                                {"worst_sqnr_db", worst},
                                {"largest_quanta", furthest},
                                {"nodes", done.at("nodes")},
                                {"pass", pass}};
      fmt::print("{}", dump_indented(json));
      return pass ? exit_ok : exit_points_failed;
    }
    print_wrapped(fmt::format("{} {} on {}, each node alone on the reference's values: {} of {} nodes below {:.0f} dB\n",
                              done.at("version").get<std::string>(), name_of(request_.precision), request_.model.name, below,
                              done.at("nodes").size(), asked));
    if (with_levels > 0)
      fmt::print("quantized levels as in the file: {} nodes, at most {:.3g} quanta from the reference\n", with_levels,
                 furthest.get<double>());
    for (const auto& node : done.at("nodes")) {
      print_text(fmt::format("  {:7.1f} dB  {:<18} {}{}\n", node.at("sqnr_db").get<double>(), node.at("op").get<std::string>(),
                             node.at("name").get<std::string>(),
                             request_.precision != Precision::int8 || node.at("quantized").get<bool>() ? "" : "  (in FP32)"));
    }
    return pass ? exit_ok : exit_points_failed;
  }

  double asked_of_nodes() const {
    return request_.precision == Precision::int8 ? request_.quantize.min_sqnr_db : min_sqnr_db(request_.precision);
  }

  // Judges as `run` judges such a network: by every node alone, because its outputs show nothing of the engine. Returns what is wrong.
  std::string judge_by_nodes(CheckResult& result) const {
    std::vector<NodeCheck> nodes;
    const nlohmann::json done = nodes_of(request_);
    for (const auto& node : done.at("nodes"))
      nodes.push_back({.name = node.at("name"), .op = node.at("op"), .sqnr_db = node.at("sqnr_db").get<double>()});
    if (nodes.empty()) return mismatch_words(result, request_.precision);
    result.sqnr_db = nodes.front().sqnr_db;
    for (const NodeCheck& node : nodes) result.sqnr_db = std::min(result.sqnr_db, node.sqnr_db);
    result.min_sqnr_db = asked_of_nodes();
    result.pass = result.sqnr_db >= *result.min_sqnr_db;
    std::string wrong = result.pass ? "" : failed_nodes_words(nodes, result.against, request_.precision, *result.min_sqnr_db);
    result.against += ", node by node";
    return wrong;
  }

  OutputsRequest other_side() const {
    OutputsRequest other = request_;
    other.backend = against_.empty() ? reference_backend : against_;
    other.checked = request_.backend;
    other.precision = Precision::fp32;
    other.precision_of_file = true;
    other.options.clear();
    return other;
  }

  static bool is_empty(const CheckedOutputs& actual) {
    return std::all_of(actual.samples.begin(), actual.samples.end(), [](const CheckedSample& sample) {
      return std::all_of(sample.outputs.begin(), sample.outputs.end(),
                         [](const Tensor& output) { return element_count(output.shape) == 0; });
    });
  }

  int print_unchecked(const CheckedOutputs& actual, const std::string& why) const {
    if (json_) {
      const nlohmann::json json{{"model", request_.model.name},     {"backend", actual.version}, {"precision", name_of(request_.precision)},
                                {"samples", actual.samples.size()}, {"pass", nullptr},           {"unchecked", why}};
      fmt::print("{}", dump_indented(json));
    } else {
      print_wrapped(fmt::format("{} {} on {}: unchecked: {}\n", actual.version, name_of(request_.precision), printable(request_.model.name),
                                printable(why)));
    }
    return exit_ok;
  }

  void print(const CheckResult& result, const CheckedOutputs& actual, const std::optional<Confident>& confident,
             const std::string& wrong) const {
    const double asked = result.min_sqnr_db.value_or(min_sqnr_db(actual.judged_as));
    if (json_) {
      nlohmann::json json{{"model", request_.model.name},
                          {"backend", actual.version},
                          {"against", result.against},
                          {"precision", name_of(request_.precision)},
                          {"max_abs_error", result.max_abs_error},
                          {"mean_abs_error", result.mean_abs_error},
                          {"sqnr_db", result.sqnr_db},
                          {"top1_agreement", nullptr},
                          {"samples", result.samples},
                          {"min_sqnr_db", asked},
                          {"pass", result.pass}};
      if (!wrong.empty()) json["reason"] = wrong;
      if (result.top1_agreement) json["top1_agreement"] = *result.top1_agreement;
      if (confident) {
        json["margin"] = *margin_;
        json["confident_samples"] = confident->samples;
        json["confident_top1_agreement"] = nullptr;
        if (confident->agreement()) json["confident_top1_agreement"] = *confident->agreement();
      }
      fmt::print("{}", dump_indented(json));
      return;
    }
    print_wrapped(fmt::format("{} {} on {} against {}: {}\n", actual.version, name_of(request_.precision), request_.model.name,
                              result.against, result.pass ? "agrees" : "DIFFERS"));
    fmt::print("  samples             {}\n  largest error       {:.3g}\n  mean error          {:.3g}\n", result.samples,
               result.max_abs_error, result.mean_abs_error);
    fmt::print("  SQNR                {:.1f} dB (at least for {}: {:g} dB)\n", result.sqnr_db, name_of(actual.judged_as), asked);
    if (result.top1_agreement) fmt::print("  top-1 agreement     {:.1f} %\n", 100 * *result.top1_agreement);
    if (confident && confident->agreement()) {
      fmt::print("  {} confident samples  {:.1f} % (margin {:g} or more)\n", confident->samples, 100 * *confident->agreement(), *margin_);
    }
    if (!wrong.empty()) print_wrapped(fmt::format("  {}\n", printable(wrong)));
    if (request_.dataset == "seeded" || request_.dataset == "zeros") return;
    for (const CheckedSample& sample : actual.samples) {
      if (is_class_output(sample.outputs)) print_text(fmt::format("  {:<19}{}\n", printable(sample.name), top_classes(sample.outputs[0])));
    }
  }

  OutputsRequest request_;
  EngineFlags flags_;
  SelectionFlags which_;  // selects Records in Stores
  std::string against_, outputs_, text_;
  CLI::Option* samples_ = nullptr;
  std::vector<std::string> more_stores_;
  std::optional<double> margin_;
  bool nodes_ = false, json_ = false;
};

const bool check_registered = add_command<CheckCommand>({"check",
                                                         {CommandGroup::measure, 3},
                                                         "Compare an engine's outputs with the FP32 reference, another engine or files",
                                                         "  deepgap check resnet50 -e onnxruntime -p int8\n"
                                                         "  deepgap check net.onnx -e openvino --against native\n"
                                                         "  deepgap check llm-q4_0.gguf --against llm-f16.gguf --text FILE\n",
                                                         {"--backend", "--device", "--precision", "--against", "--samples", "--text",
                                                          "--nodes", "--outputs", "--weights", "--dataset", "--json"}});

}  // namespace
}  // namespace deepgap
