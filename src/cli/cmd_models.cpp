// `deepgap models`: what a network costs and where its weights are, all computed from its Graph; and the way to get one as an ONNX file.
// The process is the confined child that may look at a file: it lives for this command alone.
#include "base/console.h"
#include "base/dump_json.h"
#include "base/file.h"
#include "base/text.h"
#include "cli/axis_values.h"
#include "cli/command.h"
#include "cli/confined.h"
#include "cli/shape_flag.h"
#include "model/gguf/gguf.h"
#include "model/graph_tools.h"
#include "model/model_source.h"
#include "model/saved_model.h"
#include "model/zoo/zoo.h"
#include "run/progress.h"
#include "run/text_table.h"
#include "worker/input_values.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

namespace deepgap {
namespace {

using nlohmann::json;

constexpr uint64_t memory_limit_bytes = uint64_t{8} << 30;      // beyond what the file itself takes
constexpr uint64_t inspect_limit_s = 60, write_limit_s = 1800;  // CPU time; seeding the weights of a deep network takes minutes

// A file of some gigabytes is mapped and its tensors copied.
uint64_t memory_for(const std::vector<std::string>& names) {
  uint64_t bytes = memory_limit_bytes;
  for (const std::string& name : names) {
    std::error_code error;
    const auto size = is_model_file(name) ? std::filesystem::file_size(name, error) : 0;
    if (!error) bytes += 4 * std::min<uint64_t>(size, uint64_t{2} << 30);
  }
  return bytes;
}

std::string size_text(const std::optional<Dims>& dims) {
  if (!dims) return "?";
  std::vector<std::string> parts;
  for (const Dim& dim : *dims) {
    parts.push_back(dim.known() ? fmt::format("{}", dim.size) : dim.size == 1 ? dim.symbol : fmt::format("{}*{}", dim.size, dim.symbol));
  }
  return join(parts, "x");
}

// Open sizes other than the batch are "?": their names may hold an x, as "x.2" does. --json has the names.
std::string table_size_text(std::optional<Dims> dims) {
  if (!dims) return size_text(dims);
  for (Dim& dim : *dims) {
    if (!dim.known() && dim.symbol != batch_symbol) dim.symbol = "?";
  }
  return size_text(dims);
}

std::string tensor_text(const std::vector<TensorInfo>& tensors) {
  std::vector<std::string> parts;
  for (const TensorInfo& tensor : tensors) {
    const std::string type = tensor.type == DataType::f32 ? "" : fmt::format(" {}", name_of(tensor.type));
    parts.push_back(fmt::format("{}{}", table_size_text(tensor.dims), type));
  }
  return join(parts, ", ");
}

// Weights that open_model would take for it now.
std::vector<std::string> weights_at_hand(const std::string& name) {
  if (saved_model_named(name)) return {"saved_model"};
  if (is_model_file(name)) return {is_gguf_file(name) ? "gguf" : "onnx"};
  std::vector<std::string> sets{"seeded"};
  ZooOptions options;
  const auto model = find_zoo_model(name, options);
  if (model == nullptr) return sets;
  for (const auto& [set, file] : model->weight_sets()) {
    if (std::filesystem::exists(std::filesystem::path(default_data_dir()) / file)) sets.push_back(set);
  }
  return sets;
}

json tensors_json(const std::vector<TensorInfo>& tensors) {
  json list = json::array();
  for (const TensorInfo& tensor : tensors) {
    json shape = nullptr;
    if (tensor.dims) {
      shape = json::array();
      for (const Dim& dim : *tensor.dims) shape.push_back(dim.known() ? json(dim.size) : json(size_text(Dims{dim})));
    }
    list.push_back({{"name", tensor.name}, {"type", name_of(tensor.type)}, {"shape", shape}});
  }
  return list;
}

json row_json(const GraphSummary& summary) {
  const auto known = [](int64_t count) { return count < 0 ? json(nullptr) : json(count); };
  json operators = json::object();
  for (const OperatorUse& use : summary.operators) operators[use.domain.empty() ? use.op : use.domain + "." + use.op] = use.count;
  return {{"name", summary.name},
          {"parameters", summary.parameters},
          {"macs", known(summary.macs_per_item)},
          {"flop", known(summary.flop_per_item)},
          {"bytes", known(summary.bytes_per_item)},
          {"weight_bytes", summary.weight_bytes},
          {"inputs", tensors_json(summary.inputs)},
          {"outputs", tensors_json(summary.outputs)},
          {"weights", weights_at_hand(summary.name)},
          {"operators", operators},
          {"nodes", summary.nodes},
          {"opset", summary.opset},
          {"content_hash", summary.content_hash}};
}

// 11,689,512
std::string grouped(int64_t count) {
  std::string text = fmt::format("{}", count);
  for (size_t at = text.size(); at > 3; at -= 3) text.insert(at - 3, ",");
  return text;
}

std::string billions(int64_t count) { return count < 0 ? "-" : fmt::format("{:.3f}", static_cast<double>(count) / 1e9); }

void print_table(const std::vector<GraphSummary>& summaries) {
  std::vector<TextColumn> columns{{"model", false, {}},          {"parameters", true, {}},     {"GMAC", true, {}},
                                  {"GFLOP", true, {}},           {"memory traffic", true, {}}, {"input", false, {}},
                                  {"weights present", false, {}}};
  for (const GraphSummary& summary : summaries) {
    const std::vector<std::string> cells{summary.name,
                                         grouped(summary.parameters),
                                         billions(summary.macs_per_item),
                                         billions(summary.flop_per_item),
                                         summary.bytes_per_item < 0 ? "-" : format_bytes(static_cast<double>(summary.bytes_per_item)),
                                         tensor_text(summary.inputs),
                                         join(weights_at_hand(summary.name), ", ")};
    for (size_t i = 0; i < columns.size(); ++i) columns[i].cells.push_back(cells[i]);
  }
  print_text(fitted_table(columns, terminal_columns(stdout),
                          {{"input", 24}, {"memory traffic"}, {"GMAC"}, {"input", 14}, {"model", 24}, {"weights present"}}));
}

class ModelsCommand final : public Command {
 public:
  void declare(CLI::App& app) override {
    app.add_option("model", names_, "Names such as resnet50 or resnet50:width=0.5, or ONNX files [default: all names]")
        ->type_name("NAME|FILE");
    app.add_flag("--json", json_, "Print JSON");
    app.add_option("--onnx", onnx_, "Write the model and its weights to this file")->type_name("OUT.onnx");
    app.add_option("--weights", weights_, "Weights for --onnx: seeded, a named set, or a .safetensors file")
        ->type_name("NAME|FILE")
        ->capture_default_str();
    app.add_option("--shape", shapes_, "Set sizes of an input: input:1x3x320x320 (N stands for the batch)")->type_name("INPUT:DIMS");
    app.footer(
        "GMAC, GFLOP and memory traffic are for one item. '?' is a size that the file leaves open, and '-' a number that depends on it: "
        "set sizes with --shape.");
  }

  int run() override {
    if (!onnx_.empty() && names_.size() != 1) throw Error(ErrorKind::usage, "--onnx writes one model: name it");
    if (names_.empty()) names_ = zoo_names();
    std::transform(names_.begin(), names_.end(), names_.begin(), usual_model);
    ReaderLimits limits{.subject = join(names_, ", "), .memory_bytes = memory_for(names_), .outputs = {onnx_}};
    limits.cpu_seconds = onnx_.empty() ? inspect_limit_s : write_limit_s;
    if (!onnx_.empty()) limits.file_bytes = limits.memory_bytes;
    return work_confined(limits, [&] { return answer(); });
  }

 private:
  ModelRequest request(const std::string& name) const {
    return {.name = name, .weights = weights_, .shapes = parse_shapes(joined_shapes(shapes_))};
  }

  int answer() {
    std::vector<GraphSummary> summaries;
    if (!onnx_.empty()) {
      const auto model = open_model(request(names_.front()));
      const auto bytes = model->onnx();
      write_file_atomic(onnx_, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
      summaries.push_back(model->summary());
    } else {
      for (const std::string& name : names_) summaries.push_back(summarize_model(request(name)));
    }
    if (json_) {
      json rows = json::array();
      for (const GraphSummary& summary : summaries) rows.push_back(row_json(summary));
      // Only paths may hold what is no UTF-8: names in files were checked.
      fmt::print("{}", dump_indented(rows));
    } else {
      print_table(summaries);
    }
    if (!onnx_.empty() && !json_) print_text(fmt::format("written to {}\n", onnx_));
    return exit_ok;
  }

  std::vector<std::string> names_, shapes_;
  bool json_ = false;
  std::string onnx_, weights_ = "seeded";
};

const bool registered = add_command<ModelsCommand>({"models",
                                                    {CommandGroup::system, 3},
                                                    "List networks with parameters, work, sizes and weights; write one as ONNX",
                                                    "  deepgap models\n"
                                                    "  deepgap models net.onnx      its inputs, size and work\n"});

}  // namespace
}  // namespace deepgap
