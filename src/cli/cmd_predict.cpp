// `deepgap predict`: how fast a network would be on a device that is not here, from its Graph, a GPU's data sheet or a CPU's ceilings, and
// what was measured elsewhere (docs/how-to/predict.md). The process is the confined child that may look at a file: it lives for this
// command alone.
#include "analysis/predict/measured_rows.h"
#include "analysis/predict/predict.h"
#include "base/console.h"
#include "base/text.h"
#include "cli/axis_values.h"
#include "cli/command.h"
#include "cli/confined.h"
#include "cli/predict_points.h"
#include "cli/predict_text.h"
#include "cli/shape_flag.h"
#include "run/progress.h"
#include "worker/input_values.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>

namespace deepgap {
namespace {

std::vector<std::string> values_of(const std::string& axis, const std::vector<std::string>& given) {
  std::vector<std::string> values;
  for (const std::string& text : given)
    for (std::string& value : axis_values(axis, text, "--" + axis)) values.push_back(std::move(value));
  return values;
}

// Returns the engine with published figures for several architectures; empty for CPUs, because several were not measured.
std::string measured_across(MeasuredKind kind) {
  if (kind == MeasuredKind::cpu) return {};
  return kind == MeasuredKind::training ? "pytorch" : "tensorrt";
}

// Returns whether a CPU is given as the file that `deepgap ceilings --json` made on it.
bool is_ceilings_file(const std::string& device) { return device.ends_with(".json"); }

class PredictCommand final : public Command {
 public:
  void declare(CLI::App& app) override {
    app.add_option("model", models_, "Zoo names or ONNX files")->type_name("MODEL")->required();
    app.add_option("-d,--device", devices_,
                   "GPUs by data sheet: t4, l4, a100, h100, h200 ...; a CPU by the output of `deepgap ceilings --json`")
        ->type_name("LIST")
        ->required();
    app.add_option("--task", task_, "Task: infer, or train (one training step)")->type_name("NAME")->capture_default_str();
    app.add_option("-p,--precision", precisions_,
                   "Precisions: fp32, tf32, fp16, bf16, int8; for training also mixed [default: fp16; CPU: fp32; training: tf32,mixed]")
        ->type_name("LIST");
    app.add_option("-b,--batch", batches_, "Samples per query: 1,2,4 or 1..512*2 [default: 1,32,256; training: 16,64,256]")
        ->type_name("LIST");
    app.add_option("--optimizer", optimizer_, "Optimizer for training: sgd, momentum, adam, adamw")
        ->type_name("NAME")
        ->capture_default_str();
    app.add_option("-e,--backend", backend_,
                   fmt::format("Engine to predict for. GPU: {} [default: native]; training: {}; CPU: {}",
                               join(measured_engines(MeasuredKind::gpu), ", "), join(trained(), ", "),
                               join(measured_engines(MeasuredKind::cpu), ", ")))
        ->type_name("NAME");
    app.add_option("--from", stores_, "Add the points of these stores to the bundled ones")->type_name("STORE");
    app.add_option("--shape", shapes_, "Set sizes of an input: input:1x3x320x320 (N stands for the batch)")->type_name("INPUT:DIMS");
    app.add_flag("--json", json_, "Print JSON");
    app.footer("In validation, 90 % of such predictions were between low and high.");
  }

  int run() override {
    if (const auto task = task_from(task_); task != Task::infer && task != Task::train)
      throw Error(ErrorKind::usage, fmt::format("invalid value '{}' for --task: expected infer or train", task_));
    ReaderLimits limits = limits_of_stores(stores_, "");
    limits.subject = join(models_, ", ");
    return work_confined(limits, [&] { return answer(); });
  }

 private:
  // Engines that were fitted to each other's published rows are not among those that can be asked for.
  static std::vector<std::string> trained() {
    std::vector<std::string> engines = measured_engines(MeasuredKind::training);
    std::erase(engines, measured_across(MeasuredKind::training));
    return engines;
  }

  int answer() {
    std::vector<PredictedRow> rows;
    std::string words;
    for (const bool cpus : {false, true}) {
      const MeasuredKind kind = task_from(task_) == Task::train ? MeasuredKind::training : cpus ? MeasuredKind::cpu : MeasuredKind::gpu;
      std::vector<std::string> devices;
      for (const std::string& device : values_of("device", devices_))
        if (is_ceilings_file(device) == cpus) devices.push_back(device);
      if (cpus && kind == MeasuredKind::training && !devices.empty())
        throw Error(ErrorKind::usage, "--task train: training on a CPU has not been measured, so it cannot be predicted");
      if (!devices.empty()) words += predict_for(kind, devices, rows);
    }
    json_ ? fmt::print("{}", predictions_json(rows)) : print_text(words);
    const bool any = std::any_of(rows.begin(), rows.end(), [](const PredictedRow& row) { return row.reason.empty(); });
    return any ? exit_ok : exit_points_failed;
  }

  std::string engine_for(MeasuredKind kind) const {
    if (!backend_.empty()) return backend_;
    return kind == MeasuredKind::training ? trained().front() : "native";
  }

  // Predicts for devices of one kind; adds to `all` and returns their table.
  std::string predict_for(MeasuredKind kind, const std::vector<std::string>& devices, std::vector<PredictedRow>& all) {
    const std::string engine = engine_for(kind);
    std::vector<MeasuredPoint> measured = measured_points(kind, engine, stores_, networks_, known_devices_);
    if (measured.empty())
      throw Error(ErrorKind::usage,
                  fmt::format("--backend {}: there are no measurements of it {}; bundled are {}; add a store with --from", engine,
                              kind == MeasuredKind::cpu        ? "on a CPU"
                              : kind == MeasuredKind::training ? "in training"
                                                               : "on a GPU",
                              join(kind == MeasuredKind::training ? trained() : measured_engines(kind), ", ")));
    // LibTorch is what PyTorch launches; TensorRT is another engine than any that can be asked for.
    Predictor predictor(std::move(measured), measured_points(kind, measured_across(kind), {}, networks_, known_devices_),
                        kind == MeasuredKind::training);
    std::vector<PredictedRow> rows;
    for (const std::string& model : values_of("model", models_))
      for (const std::string& name : devices) {
        const DeviceFigures& device = kind == MeasuredKind::cpu ? known_devices_.cpu_of_file(name)
                                                                : known_devices_.figures(known_devices_.named(name, predictor.measured()));
        add_rows(kind, model, device, predictor, rows);
      }
    std::string text = predictions_text(rows, predictor, engine, kind, terminal_columns(stdout));
    all.insert(all.end(), rows.begin(), rows.end());
    return text;
  }

  std::vector<std::string> precisions(MeasuredKind kind) const {
    if (!precisions_.empty()) return values_of("precision", precisions_);
    if (kind == MeasuredKind::training) return {"tf32", "mixed"};
    return {kind == MeasuredKind::cpu ? "fp32" : "fp16"};
  }
  std::vector<std::string> batches(MeasuredKind kind) const {
    if (!batches_.empty()) return values_of("batch", batches_);
    return kind == MeasuredKind::training ? std::vector<std::string>{"16", "64", "256"} : std::vector<std::string>{"1", "32", "256"};
  }

  void add_rows(MeasuredKind kind, const std::string& model, const DeviceFigures& device, Predictor& predictor,
                std::vector<PredictedRow>& rows) {
    const auto shapes = parse_shapes(joined_shapes(shapes_));
    const bool trains = kind == MeasuredKind::training;
    const NetworkNeeds& network = trains ? networks_.training(model, optimizer_, shapes) : networks_.of(model, shapes);
    const Band band = predictor.band(model, device, 0.9);
    for (const std::string& precision : precisions(kind))
      for (const std::string& text : batches(kind)) {
        PredictedRow row{.model = model, .device = device.name, .precision = precision, .batch = batch_of(text), .band = band};
        try {
          row.prediction =
              predictor.predict(network, model, static_cast<double>(row.batch), precision, device, band, trains ? optimizer_ : "");
        } catch (const Error& error) {  // one precision that the device lacks leaves the others
          row.reason = error.what();
        }
        rows.push_back(std::move(row));
      }
  }

  static int64_t batch_of(const std::string& text) {
    const auto batch = parse_int(text);
    if (!batch || *batch < 1 || *batch > 1 << 30)
      throw Error(ErrorKind::usage, fmt::format("invalid value '{}' for --batch: expected a whole number from 1", text));
    return *batch;
  }

  std::vector<std::string> models_, devices_, precisions_, batches_, stores_, shapes_;
  std::string backend_, task_{name_of(Task::infer)}, optimizer_ = "momentum";
  bool json_ = false;
  Networks networks_;
  Devices known_devices_;
};

const bool registered =
    add_command<PredictCommand>({"predict",
                                 {CommandGroup::decide, 2},
                                 "Predict time, memory and power on hardware you do not have",
                                 "  deepgap predict resnet50 --device t4,l4,h100 -p fp16,int8 -b 1,32,256\n"
                                 "  deepgap predict mine.onnx --device l4 --from h100.db   fitted to your own records too\n"
                                 "  deepgap predict resnet50 --task train --device h200,a100 -p tf32,mixed\n"
                                 "  deepgap predict resnet50 --device other.json -p int8   a CPU, from `deepgap ceilings --json`\n"});

}  // namespace
}  // namespace deepgap
