// Group: what the orders of one worker process share: the plug-in, the Model, the Dataset, the clock, the probes and the facts about the
// machine. Opened with the first order; not thread-safe.
#pragma once

#include "record/identity.h"
#include "telemetry/probe.h"
#include "worker/heartbeat.h"
#include "worker/node_check.h"
#include "worker/order.h"
#include "worker/plugin.h"
#include "worker/point_options.h"
#include "worker/quantized_model.h"

#include <deepgap/dataset.h>
#include <deepgap/model.h>

#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace deepgap {

// Identifies the Model that a process has loaded.
struct LoadedModelKey {
  ModelKey model;
  Task task = Task::infer;  // which decides its form
  auto operator<=>(const LoadedModelKey&) const = default;
};

// The program's own version for Records; the command line knows it.
struct ProgramState {
  std::string version;
  std::string git_state;  // state of the tree it was built from
};

// The engine's plug-in file, once it is opened: the hash of its content distinguishes builds of one version.
struct PluginFile {
  std::string path, hash;
};

struct KeptSessions;

class Group {
 public:
  const PluginFile& plugin_file() const { return plugin_file_; }
  Group(Heartbeat& heartbeat, ProgramState program);
  ~Group();
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  Backend& backend(const WorkOrder& order);  // pins the process first, where the Point asks for it
  struct Inputs {
    std::shared_ptr<const Model> model;         // what the Point names, or a server's reference: its outputs are the reference
    std::shared_ptr<const Model> engine_model;  // what the engine gets: `model`, its QDQ form, or the model that the server describes
    Facts quantize_facts;                       // facts on engine_model, where that is quantized
    Dataset* dataset = nullptr;
    std::vector<uint32_t> samples;  // loaded
    double load_s = 0;              // seconds for the Model, if this process made it
    bool shared = false;            // by an earlier order
  };
  // Throws as open_model, open_dataset and Dataset::load do. engine_model is null where the Point needs a QDQ form that is not in the
  // cache.
  Inputs inputs(const WorkOrder& order, const PointOptions& options);
  // Makes that form and keeps it in the cache. Throws as quantize_model() does.
  void quantize(const WorkOrder& order, const PointOptions& options);
  // The clock is made with the first order, for its devices.
  Clock& clock(const WorkOrder& order);
  // Returns what `make` gives, once for each `key`: batches of one model and engine share it.
  const NodeChecks& node_checks(const std::string& key, const std::function<NodeChecks()>& make);
  // Started with the first order: its devices and its period are those of the whole group.
  Telemetry& telemetry(const WorkOrder& order);
  // Sessions wait for the next order here. take_sessions() returns those of the key, else null, and drops others.
  void keep_sessions(std::unique_ptr<KeptSessions> sessions);
  std::unique_ptr<KeptSessions> take_sessions(const std::string& key);
  std::optional<Window>& idle_window() { return idle_window_; }           // the first order's
  bool take_first_order() { return std::exchange(first_order_, false); }  // true once
  // Returns facts on the machine. Call it after telemetry(), whose probes add to them.
  const Facts& environment(const WorkOrder& order);

 private:
  Heartbeat& heartbeat_;
  ProgramState program_;
  std::unique_ptr<Clock> clock_;
  std::unique_ptr<Telemetry> telemetry_;
  std::unique_ptr<Plugin> plugin_;
  std::string plugin_name_;
  PluginFile plugin_file_;
  LoadedModelKey model_key_;
  DatasetKey dataset_key_;
  using QuantizedKey = std::tuple<ModelKey, std::string, std::map<std::string, std::string>>;  // with dataset and quantize.NAME
  QuantizedKey quantized_key_;                                                                 // for quantized_
  std::shared_ptr<const Model> model_, quantized_;
  std::shared_ptr<const Model> served_;  // what a server's engine gets; model_ is its reference, or the same
  Facts quantize_facts_;                 // for quantized_
  std::unique_ptr<Dataset> dataset_;
  std::unique_ptr<Dataset> targeted_;  // dataset_ with the targets of a training, made for each order of one
  std::vector<uint32_t> samples_;
  double load_s_ = 0;
  std::map<std::string, NodeChecks> node_checks_;
  std::unique_ptr<KeptSessions> sessions_;  // loaded from model_ or quantized_, and dataset_
  bool first_order_ = true;
  std::optional<Window> idle_window_;
  Facts environment_;
  struct Calibration {
    CalibrationSamples samples;
    std::string key;  // key of the QDQ form in the cache
  };
  void drop_sessions();
  void open_models(const WorkOrder& order, const PointOptions& options);
  bool open_other_models(const WorkOrder& order, const PointOptions& options);
  void open_other_dataset(const WorkOrder& order, const PointOptions& options);
  void add_targets(const WorkOrder& order, const PointOptions& options, Inputs& inputs);
  Calibration calibration(const WorkOrder& order, const PointOptions& options) const;
  void find_engine_model(const WorkOrder& order, const PointOptions& options);
  bool needs_quantizing(const Point& point) const;
};

// These say how a Point's Model and Dataset are requested; the inspection uses them too.
struct ModelRequest;
ModelRequest model_request(const Point& point, const PointOptions& options, const std::string& cache_dir);
// `steering` and `integers` are what the network itself says about its inputs.
std::unique_ptr<Dataset> open_samples(const Point& point, const PointOptions& options, const GraphSummary& summary,
                                      const std::vector<SteeringInput>& steering, std::map<std::string, IntegerRange> integers = {});
// The key includes what the Dataset gives it.
LoadedModelKey loaded_model_key(const Point& point);
// Returns whether this Point's engine, which `computes` or does not, gets the QDQ form of the Model instead of the Model.
bool needs_quantizing(const Point& point, bool computes, const GraphSummary& summary);
// Returns the summary that supports() is asked about: with the operators of the QDQ form where the engine will get that one.
GraphSummary engine_summary(const Point& point, bool computes, const GraphSummary& summary);

}  // namespace deepgap
