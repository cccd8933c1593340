// `deepgap predict`: how fast a network would be on a device that is not here, from its Graph, the device's data sheet and what was
// measured elsewhere (docs/predict.md). The process is the confined child that may look at a file: it lives for this command alone.
#include "analysis/predict/measured_rows.h"
#include "analysis/predict/predict.h"
#include "base/text.h"
#include "cli/axis_values.h"
#include "cli/command.h"
#include "cli/confined.h"
#include "cli/predict_points.h"
#include "cli/predict_text.h"
#include "cli/shape_flag.h"
#include "worker/point_options.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace deepgap {
namespace {

std::vector<std::string> values_of(const std::string& axis, const std::vector<std::string>& given) {
  std::vector<std::string> values;
  for (const std::string& text : given)
    for (std::string& value : axis_values(axis, text, "--" + axis)) values.push_back(std::move(value));
  return values;
}

// The only engine of which figures of several architectures are at hand: what others published.
constexpr const char* measured_across_architectures = "tensorrt";

class PredictCommand final : public Command {
 public:
  std::string name() const override { return "predict"; }
  std::string describe() const override { return "Foretell time, memory and energy of networks on a GPU that is not here"; }
  std::string examples() const override {
    return "  deepgap predict resnet50 --device t4,l4,h100 --precision fp16,int8 --batch 1,32,256\n"
           "  deepgap predict mine.onnx --device l4 --from h100.db   fitted to your own Records too\n";
  }

  void declare(CLI::App& app) override {
    app.add_option("model", models_, "Zoo names or ONNX files")->type_name("MODEL")->required();
    app.add_option("-d,--device", devices_, "GPUs by their data sheet: t4, l4, a100, h100, h200 ...")->type_name("LIST")->required();
    app.add_option("-p,--precision", precisions_, "fp32, tf32, fp16, bf16, int8")->type_name("LIST");
    app.add_option("-b,--batch", batches_, "Samples a query: 1,2,4 or 1..512*2")->type_name("LIST");
    app.add_option("-e,--backend", backend_, "Engine whose speed is foretold: " + join(measured_engines(), ", "))->capture_default_str();
    app.add_option("--from", stores_, "Stores whose Points count with those that deepgap brings along")->type_name("STORE");
    app.add_option("--shape", shapes_, "Sizes of an input: input:1x3x320x320 (N: the batch)");
    app.add_flag("--json", json_, "A list of rows, for programs");
    app.footer("Low and high hold 90 % of such predictions where they could be tried (docs/predict.md).");
  }

  int run() override {
    ReaderLimits limits = limits_of_stores(stores_, "");
    limits.subject = join(models_, ", ");
    return work_confined(limits, [&] { return answer(); });
  }

 private:
  int answer() {
    Networks networks;
    Devices devices;
    std::vector<MeasuredPoint> measured = measured_points(backend_, stores_, networks, devices);
    if (measured.empty())
      throw Error(ErrorKind::usage, fmt::format("--backend {}: nothing of it was measured on a GPU; deepgap brings along {}; a Store of "
                                                "it is given by --from",
                                                backend_, join(measured_engines(), ", ")));
    Predictor predictor(std::move(measured), measured_points(measured_across_architectures, {}, networks, devices));
    std::vector<PredictedRow> rows;
    for (const std::string& model : values_of("model", models_))
      for (const std::string& name : values_of("device", devices_))
        add_rows(model, devices.named(name, predictor.measured()), networks, devices, predictor, rows);
    fmt::print("{}", json_ ? predictions_json(rows) : predictions_text(rows, predictor, backend_));
    const bool any = std::any_of(rows.begin(), rows.end(), [](const PredictedRow& row) { return row.reason.empty(); });
    return any ? exit_ok : exit_points_failed;
  }

  void add_rows(const std::string& model, const DataSheet& sheet, Networks& networks, Devices& devices, Predictor& predictor,
                std::vector<PredictedRow>& rows) const {
    const NetworkNeeds& network = networks.of(model, parse_shapes(joined_shapes(shapes_)));
    const DeviceFigures& device = devices.figures(sheet);
    const Band band = predictor.band(model, device, 0.9);
    for (const std::string& precision : values_of("precision", precisions_))
      for (const std::string& text : values_of("batch", batches_)) {
        PredictedRow row{.model = model, .device = device.name, .precision = precision, .batch = batch_of(text), .band = band};
        try {
          row.prediction = predictor.predict(network, model, static_cast<double>(row.batch), precision, device, band);
        } catch (const Error& error) {  // one precision that the device lacks leaves the others
          row.reason = error.what();
        }
        rows.push_back(std::move(row));
      }
  }

  static int64_t batch_of(const std::string& text) {
    const auto batch = parse_int(text);
    if (!batch || *batch < 1 || *batch > 1 << 30) throw Error(ErrorKind::usage, fmt::format("--batch {}: no whole number from 1", text));
    return *batch;
  }

  std::vector<std::string> models_, devices_, precisions_{"fp16"}, batches_{"1", "32", "256"}, stores_, shapes_;
  std::string backend_ = "native";
  bool json_ = false;
};

const bool registered = Registry<Command>::instance().add("predict", [] { return std::make_unique<PredictCommand>(); });

}  // namespace
}  // namespace deepgap
