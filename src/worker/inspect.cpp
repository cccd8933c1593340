#include "worker/inspect.h"

#include "base/confine.h"
#include "base/dump_json.h"
#include "base/json_fields.h"
#include "dataset/dataset_content.h"
#include "dataset/open_dataset.h"
#include "model/model_source.h"
#include "record/dataset_hash.h"
#include "record/point_option.h"
#include "record/record_json.h"
#include "telemetry/environment.h"
#include "worker/blamed_axis.h"
#include "worker/group.h"
#include "worker/inspected_backend.h"
#include "worker/memory_limit.h"
#include "worker/plugin.h"
#include "worker/point_options.h"
#include "worker/process_facts.h"
#include "worker/remote_model.h"
#include "worker/run_rules.h"
#include "worker/standstill.h"
#include "worker/task_work.h"

#include <deepgap/batching.h>
#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <tuple>

namespace deepgap {
namespace {

// Seeded weights are costly to make and cannot be wrong; all others are read, so that what is wrong with them is said now.
ModelOutline outline_by(const ModelRequest& request) {
  return request.weights == "seeded" ? outline_model(request) : outline_of(*open_model(request));
}

class Inspection {
 public:
  Inspection(const std::string& cache_dir, const BrokenBackends& broken, const InspectionListener& about_to)
      : cache_dir_(cache_dir), about_to_(about_to) {
    for (const auto& [name, reason] : broken) backends_[name].reason = reason;
  }

  InspectedPoint inspect(const Point& asked) {
    Point point = asked;
    point.batch = std::max<int64_t>(asked.batch, 1);
    InspectedBackend& backend = backend_of(point.backend);
    if (const RunRules* rules = rules_of(point)) rules->check(point);
    const auto scenario = scenario_of(point);
    const PointOptions options = options_of(point, backend, *scenario);
    if (asked.batch != 0) scenario->check_batch(point.batch);
    InspectedPoint result;
    const ModelOutline* outline = nullptr;
    try {
      if (backend.plugin) require_place(point, options, backend.plugin->backend().form());
      outline = &model_of(point, options, backend);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::refused) throw;
      result.supported = false;
      result.reason = error.what();
      result.refused_by = is_remote(point.placement) ? point.backend : "deepgap";
      result.backend_version = backend.version;
      return result;
    }
    const GraphSummary& model = outline->summary;
    if (!outline->open_sizes.empty()) throw Error(ErrorKind::usage, outline->open_sizes);
    if (asked.batch == 0) {
      const Batching batching = batching_of(model.inputs);
      point.batch = batching.samples;
      if (batching.kind == Batching::Kind::open) scenario->check_batch(point.batch);
    }
    result.batch = point.batch;
    require_steering(outline->steering, options.input_numbers, point.dataset, point.model);
    if (!model.inputs.empty()) require_dataset(point, options, *outline);
    result.dataset_hash = content_of_dataset(point);
    result.model_hash = !is_remote(point.placement) && is_model_file(point.model) ? model.content_hash : "";
    result.backend_version = backend.version;
    result.process_key = process_key(point, backend.options);
    result.parameters = model.parameters;
    result.macs_per_item = model.macs_per_item;
    result.flop_per_item = model.flop_per_item;
    result.bytes_per_item = model.bytes_per_item;
    judge(point, backend, *outline, options, *scenario, result);
    return result;
  }

 private:
  InspectedBackend& backend_of(const std::string& name) {
    auto found = backends_.find(name);
    if (found == backends_.end()) {
      about_to_({fmt::format("backend {}", name), name});
      found = backends_.emplace(name, inspect_backend(name)).first;
    }
    return found->second;
  }

  PointOptions options_of(const Point& point, const InspectedBackend& backend, Scenario& scenario) {
    // The options of a backend that did not load are unknown: all that are not ours count as its own.
    std::vector<OptionInfo> guessed;
    if (!backend.plugin) {
      for (const auto& [name, value] : point.options) {
        const size_t dot = name.find('.');  // "libtorch.cuda_graph"
        guessed.push_back({dot == std::string::npos ? name : name.substr(dot + 1), "", ""});
      }
    }
    PointOptions options = sort_options(point, backend.plugin ? backend.options : guessed, scenario.options());
    scenario.parse(options.scenario);
    if (const std::string why = standstill(point, options); !why.empty()) throw Error(ErrorKind::usage, why);
    // Where the folder named has none, the usual plug-in would stand for it, unsaid.
    const auto folders = options.environment.find("DEEPGAP_PLUGINS");
    if (folders != options.environment.end() && !holds_plugin(folders->second, point.backend))
      throw Error(ErrorKind::usage, fmt::format("env.DEEPGAP_PLUGINS={}: no plug-in of {} is there", folders->second, point.backend));
    if (!gpu_side(options.affinity)) affinity_cpus(options.affinity, point.threads, cpus_);  // throws for CPUs that are not there
    return options;
  }

  // A server's is not known where no plug-in may be opened: then it has no inputs, unless a reference stands for it.
  ModelOutline remote_outline(const Point& point, const PointOptions& options, InspectedBackend& backend) {
    std::shared_ptr<const Model> reference;
    if (!options.reference.empty()) {
      about_to_({fmt::format("model {}", options.reference), ""});
      reference = open_model(reference_request(point, options, cache_dir_));
    }
    ModelOutline outline = reference == nullptr ? ModelOutline() : outline_of(*reference);
    if (backend.plugin) {
      about_to_({fmt::format("model {} on {}", point.model, placement_name(point.placement)), point.backend});
      const auto served = served_model(backend.plugin->backend(), point, options, reference.get());
      if (reference == nullptr) outline.summary = served->summary();
    }
    outline.summary.name = point.model;
    return outline;
  }

  // The seed decides the numbers of weights and samples, and nothing that is looked at here: a thousand seeds are one network.
  static LoadedModelKey outline_key(const Point& point) {
    LoadedModelKey key = loaded_model_key(point);
    key.model.seed.clear();
    return key;
  }

  const ModelOutline& model_of(const Point& point, const PointOptions& options, InspectedBackend& backend) {
    const LoadedModelKey key = outline_key(point);
    auto found = models_.find(key);
    if (found == models_.end() && is_remote(point.placement)) {
      found = models_.emplace(key, remote_outline(point, options, backend)).first;
    } else if (found == models_.end()) {
      about_to_({fmt::format("model {}", point.model), ""});
      found = models_.emplace(key, outline_by(model_request(point, options, cache_dir_))).first;
    }
    return found->second;
  }

  // Pictures and arrays are read once, since "not a picture" must be said before hours of measuring.
  void require_dataset(const Point& point, const PointOptions& options, const ModelOutline& model) {
    DatasetKey dataset_wanted = dataset_key(point);
    dataset_wanted.samples = std::to_string(options.samples);  // may follow from the batch
    dataset_wanted.seed.clear();
    const std::tuple key{dataset_wanted, outline_key(point), options.end_to_end.on()};
    const auto require_samples = [&](size_t size) {
      task_work(point).require_samples(point, std::min(static_cast<int64_t>(size), options.samples));
    };
    if (const auto known = datasets_.find(key); known != datasets_.end()) return require_samples(known->second);
    about_to_({fmt::format("dataset {}", point.dataset), ""});
    const auto dataset = open_samples(point, options, model.summary, model.steering);
    require_pictures(point, options.end_to_end, *dataset);
    std::vector<uint32_t> samples(std::min<size_t>(dataset->size(), static_cast<size_t>(options.samples)));
    std::iota(samples.begin(), samples.end(), 0U);
    // Samples that exceed the memory are not read: the worker says so in the Point's Record.
    if (lack_of_memory(model.summary.inputs, samples.size(), point.batch, memory_for_worker(SystemRoot("/"))).empty())
      dataset->load(samples);
    datasets_.emplace(key, dataset->size());  // only now: whoever looks for the axis to blame tries the same one again
    require_samples(dataset->size());
  }

  // Checks that the dataset still has the content that the Point names (deepgap names it when it repeats a Point).
  std::string content_of_dataset(const Point& point) {
    const std::string labels = option_of(point, "labels");
    const auto [found, is_new] = contents_.try_emplace({point.dataset, labels});
    if (is_new) found->second = dataset_content(point.dataset, labels);
    const std::string wanted = option_of(point, dataset_hash_option);
    if (!wanted.empty() && wanted != found->second)
      throw Error(ErrorKind::input, fmt::format("the samples of {} are not those of {}={}", point.dataset, dataset_hash_option, wanted));
    return found->second;
  }

  // A batch that is written into the network's nodes.
  Support node_support(const Point& point, const ModelOutline& outline, const DispatchOptions& options) {
    if (batching_of(outline.summary.inputs).kind != Batching::Kind::open) return {};
    for (const int64_t batch : batch_sizes(point, options)) {
      const auto [why, is_new] = contradictions_.try_emplace({outline_key(point), batch});
      if (is_new) why->second = why_not_batch(outline, batch);
      if (!why->second.empty())
        return {false, fmt::format("{} does not take batch {}, its nodes are made for another one: {}", point.model, batch, why->second)};
    }
    return {};
  }

  // Decides whether it can run and, if not, who says so.
  void judge(const Point& point, InspectedBackend& backend, const ModelOutline& outline, const PointOptions& options,
             const Scenario& scenario, InspectedPoint& result) {
    const GraphSummary& model = outline.summary;
    const auto refuses = [&](const std::string& by, const Support& support) {
      if (support.ok) return false;
      result.supported = false;
      result.reason = support.reason;
      result.refused_by = by;
      return true;
    };
    if (!backend.plugin) return void(refuses(point.backend, {false, backend.reason}));
    if (refuses(point.backend, clock_support(point)) || refuses(point.backend, placement_support(point, backend)) ||
        refuses("deepgap", batch_support(point, model, options.dispatch)) ||
        refuses("deepgap", node_support(point, outline, options.dispatch)) ||
        refuses("deepgap", scenario_support(point, model, scenario)) || refuses("deepgap", spread_support(point, options.dispatch)))
      return;
    about_to_({fmt::format("backend {}", point.backend), point.backend});
    const Backend& engine = backend.plugin->backend();
    if (refuses(point.backend, task_support(engine, point.task, model))) return;
    const EngineRequest request = engine_request(point, options);
    const auto asked = [&](const GraphSummary& summary) { return supports_everywhere(engine, point, summary, options.dispatch, request); };
    const bool quantized = needs_quantizing(point, engine.computes(), model);
    refuses(point.backend, quantized ? asked(engine_summary(point, engine.computes(), model)) : asked(model));
  }

  const std::string& cache_dir_;
  const InspectionListener& about_to_;
  const std::vector<int> cpus_ = allowed_cpus();
  std::map<std::string, InspectedBackend> backends_;
  std::map<LoadedModelKey, ModelOutline> models_;
  std::map<std::pair<LoadedModelKey, int64_t>, std::string> contradictions_;  // by batch; "" where there is none
  std::map<std::tuple<DatasetKey, LoadedModelKey, bool>, size_t> datasets_;   // their sizes
  std::map<std::pair<std::string, std::string>, std::string> contents_;       // by dataset and labels
};

InspectedPoint inspect_or_blame(Inspection& inspection, const Point& point, size_t number) {
  try {
    return inspection.inspect(point);
  } catch (const Error& error) {
    throw PointError(error, number, blamed_axis(point, error.what(), [&](const Point& other) { inspection.inspect(other); }));
  }
}

// Line after line, so that of a million Points never more than these are here as JSON.
void answer_lines(Inspection& inspection, std::string_view lines, FrameWriter& writer) {
  constexpr size_t points_a_frame = 500;
  Frame answer{{{"kind", "points"}, {"points", nlohmann::json::array()}}, {}};
  for (size_t number = 0; !lines.empty(); ++number) {
    const size_t end = lines.find('\n');
    const Point point = point_from_json(nlohmann::json::parse(lines.substr(0, end)));
    lines.remove_prefix(end + 1);
    answer.header["points"].push_back(inspected_to_json(inspect_or_blame(inspection, point, number)));
    if (answer.header["points"].size() < points_a_frame && !lines.empty()) continue;
    writer.write(answer);
    answer.header["points"] = nlohmann::json::array();
  }
}

}  // namespace

template <typename V>
void fields(V& visit, InspectedPoint& inspected) {
  visit("supported", inspected.supported);
  visit("reason", inspected.reason);
  visit("refused_by", inspected.refused_by);
  visit("model_hash", inspected.model_hash);
  visit("dataset_hash", inspected.dataset_hash);
  visit("process_key", inspected.process_key);
  visit("backend_version", inspected.backend_version);
  visit("batch", inspected.batch);
  visit("parameters", inspected.parameters);
  visit("macs_per_item", inspected.macs_per_item);
  visit("flop_per_item", inspected.flop_per_item);
  visit("bytes_per_item", inspected.bytes_per_item);
}

nlohmann::json inspected_to_json(const InspectedPoint& inspected) { return json_of(inspected); }
InspectedPoint inspected_from_json(const nlohmann::json& json) { return json_to<InspectedPoint>(json, "inspection"); }

std::vector<InspectedPoint> inspect_points(const std::vector<Point>& points, const std::string& cache_dir, const BrokenBackends& broken,
                                           const InspectionListener& about_to) {
  Inspection inspection(cache_dir, broken, about_to);
  std::vector<InspectedPoint> result;
  for (size_t i = 0; i < points.size(); ++i) result.push_back(inspect_or_blame(inspection, points[i], i));
  return result;
}

std::string lines_of_points(const std::vector<Point>& points) {
  std::string lines;
  for (const Point& point : points) lines += dump_line(point_to_json(point)) + "\n";
  return lines;
}

void serve_inspection(const Frame& request, FrameWriter& writer) {
  std::string subject = "the plan";
  const InspectionListener about_to = [&](const InspectionStep& next) {
    if (subject == next.subject) return;  // thousands of Points ask the same backend
    subject = next.subject;
    writer.write({{{"kind", "inspecting"}, {"subject", next.subject}, {"backend", next.backend}}, {}});
  };
  try {
    const std::string cache_dir = request.header.at("cache_dir");
    Inspection inspection(cache_dir, request.header.value("broken", BrokenBackends{}), about_to);
    for (const std::string& lines : request.blocks) answer_lines(inspection, lines, writer);
    Facts environment = capture_environment();
    environment["cpus.allowed"] = affinity_of_this_thread();  // what a Record that never runs says about its device
    writer.write({{{"kind", "inspected"}, {"environment", facts_to_json(environment)}}, {}});
  } catch (const PointError& error) {
    Frame frame = error_frame(error.kind(), error.what());
    frame.header.update({{"point", error.point()}, {"axis", error.axis()}});
    writer.write(frame);
  } catch (const Error& error) {
    writer.write(error_frame(error.kind(), error.what()));
  } catch (const std::bad_alloc&) {
    writer.write(error_frame(ErrorKind::input, fmt::format("cannot read {}: it needs {}", subject, too_much_memory())));
  } catch (const std::exception& error) {
    writer.write(error_frame(ErrorKind::internal, fmt::format("cannot read {}: {}", subject, error.what())));
  }
}

}  // namespace deepgap
