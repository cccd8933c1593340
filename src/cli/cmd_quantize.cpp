// deepgap quantize: an FP32 network to an ONNX file that engines compute in INT8.
#include "base/dump_json.h"
#include "base/option_values.h"
#include "cli/axis_values.h"
#include "cli/command.h"
#include "cli/engine_flags.h"
#include "cli/shape_flag.h"
#include "cli/written_paths.h"
#include "run/progress.h"
#include "run/read_in_child.h"
#include "worker/input_values.h"

#include <deepgap/error.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <system_error>

namespace deepgap {
namespace {

std::string flag_of(std::string option) {
  std::replace(option.begin(), option.end(), '_', '-');
  return option;
}

const char* placeholder_of(OptionKind kind) {
  if (kind == OptionKind::count) return "N";
  if (kind == OptionKind::number) return "NUMBER";
  return kind == OptionKind::text ? "NAMES" : "NAME";
}

class QuantizeCommand final : public Command {
 public:
  void declare(CLI::App& app) override {
    app.add_option("model", order_.model.name, "Zoo name (deepgap models) or ONNX file")->type_name("NAME|FILE")->required();
    app.add_option("-o,--output", order_.output, "Write the ONNX file to FILE")->type_name("FILE")->required();
    for (const OptionInfo& option : quantize_options().infos()) {
      app.add_option("--" + flag_of(option.name), options_[option.name], described(option))
          ->type_name(option.name == "dataset" ? "NAME|PATH" : placeholder_of(option.kind));
    }
    app.add_option("--calibration-table", order_.table, "Take the ranges from this file instead of calibrating")->type_name("FILE");
    app.add_option("--save-table", order_.save_table, "Write the ranges to this file")->type_name("FILE");
    app.add_option("-w,--weights", order_.model.weights, "Weights: seeded, a named set (imagenet), or a safetensors file [default: seeded]")
        ->type_name("NAME|FILE");
    app.add_option("-t,--threads", order_.threads, "Threads for calibration [default: all allowed CPUs]")->type_name("N");
    app.add_option("--shape", shapes_, "Set sizes of an input that leaves them open: input:1x3x224x224")->type_name("INPUT:DIMS");
    app.add_option("--input", inputs_, input_flag_describe)->type_name("NAME=NUMBERS")->take_all()->allow_extra_args(false);
    app.add_option("--cache", order_.model.cache_dir, "Keep weights in this folder [default: ~/.cache/deepgap]")->type_name("DIR");
    app.add_flag("--json", json_, "Print JSON");
    app.footer("docs/how-to/quantize.md describes the method, the file and the table.");
    order_.threads = 0;
  }

  int run() override {
    order_.model.name = usual_model(order_.model.name);
    std::erase_if(options_, [](const auto& option) { return option.second.empty(); });
    for (const auto& [name, value] : options_) quantize_options().set(order_.settings, name, value, "--" + flag_of(name));
    order_.threads = threads_or_all(order_.threads);
    order_.model.cache_dir = cache_or_default(order_.model.cache_dir);
    std::error_code ignored;
    if (std::filesystem::equivalent(order_.output, order_.model.name, ignored))
      throw Error(ErrorKind::usage, fmt::format("--output {} is the model itself: name another file", order_.output));
    for (const std::string& shape : shapes_) order_.model.shapes.merge(parse_shapes(shape));
    order_.model.numbers = parse_input_numbers(joined_input_numbers(inputs_));
    require_folder_of("--output", order_.output);
    require_folder_of("--save-table", order_.save_table);
    look_at_sources();
    print(quantize_in_child(order_));
    return exit_ok;
  }

 private:
  void look_at_sources() const {
    OutputsRequest sources;
    sources.model = order_.model;
    sources.dataset = order_.settings.dataset == "auto" ? "seeded" : order_.settings.dataset;
    sources.cache_dir = order_.model.cache_dir;
    look_at(sources);
    if (!order_.table.empty()) read_in_child({{"kind", "table"}, {"path", order_.table}}, order_.table, {order_.table});
  }

  void print(nlohmann::json report) const {
    if (json_) {
      report["output"] = order_.output;
      fmt::print("{}", dump_indented(report));
      return;
    }
    std::string text =
        fmt::format("{}: {} of {} nodes and {:.1f} % of the multiply-accumulates in INT8, in {:.1f} s\n", order_.output,
                    report.at("quantized_nodes").get<int64_t>(), report.at("quantized_nodes").get<size_t>() + report.at("kept").size(),
                    100 * report.at("mac_share").get<double>(), report.at("seconds").get<double>());
    text += fmt::format("  ranges   {}, {}\n  by       {}\n", report.at("method").get<std::string>(),
                        report.at("dataset").get<std::string>(), report.at("calibrated_by").get<std::string>());
    if (const auto& db = report.at("output_sqnr_db"); !db.is_null()) {
      text +=
          fmt::format("  outputs  SQNR {:.1f} dB{}\n", db.get<double>(),
                      db.get<double>() < order_.settings.min_output_sqnr_db ? ", which keeping more nodes in FP32 would not improve" : "");
    }
    for (const auto& node : report.at("kept")) {
      text += fmt::format("  in FP32  {} ({}): {}\n", node.at("name").get<std::string>(), node.at("op").get<std::string>(),
                          node.at("reason").get<std::string>());
    }
    print_wrapped(text);
  }

  QuantizeOrder order_;
  std::map<std::string, std::string> options_;
  std::vector<std::string> shapes_, inputs_;
  bool json_ = false;
};

const bool quantize_registered = add_command<QuantizeCommand>({"quantize",
                                                               {CommandGroup::system, 4},
                                                               "Write an FP32 network as an ONNX file that engines compute in INT8",
                                                               "  deepgap quantize net.onnx -o net-int8.onnx\n",
                                                               {"--output", "--method", "--keep", "--dataset", "--samples", "--json"}});

}  // namespace
}  // namespace deepgap
