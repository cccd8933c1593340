#include "mlperf/endpoints/tree.h"

#include "base/dump_json.h"
#include "base/file.h"
#include "base/text.h"
#include "mlperf/endpoints/bands.h"
#include "mlperf/endpoints/point.h"
#include "mlperf/endpoints/system.h"
#include "mlperf/submission/system.h"
#include "record/point_command.h"

#include <deepgap/error.h>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>
#include <filesystem>

namespace deepgap {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr size_t fewest_points = 7;

// What the checker asks for and a record may not have. Precision is that of the weights, and a record has that of the arithmetic.
const std::vector<std::string> system_fields{"system_size", "system_node_ensemble_count", "system_node_ensemble_total"};
const std::vector<std::string> node_fields{
    "number_of_nodes", "host_processor_core_count", "host_memory_configuration", "host_network_card_count", "driver", "filesystem"};
const std::vector<std::string> point_fields{"model_precision", "link_to_model", "dataset_link", "seed_set", "target_cohort"};

constexpr const char* method = R"(# How this was measured

Each point is a closed loop of as many clients as its concurrency: a client sends a request, waits for the whole answer and sends the next.
`result_summary.json` covers the window after the warm-up that `config.yaml` and `point.yaml` describe. TTFT and latency count from the
time a request was sent, TPOT from the first token to the last, for each token after the first. Percentiles are by nearest rank.
The fields `status` and `verdict` of `steady_state` are left out: MLPerf's detector of steady states did not run.
)";

class TreeWriter {
 public:
  TreeWriter(const EndpointsCurve& curve, const Json& disclosure, const std::string& folder);
  std::vector<std::string> write();

 private:
  void check_places() const;
  void write_shared() const;
  void write_point(int64_t clients, const EndpointsPoint& point);
  Json point_json(int64_t clients, const EndpointsPoint& point) const;
  void note_missing(const std::string& part, const Json& json, const std::vector<std::string>& fields);
  void note_curve();
  void put(const fs::path& path, std::string_view text) const {
    make_directories((folder_ / path).parent_path().string());
    write_file_atomic((folder_ / path).string(), text);
  }
  const Record& first() const { return curve_.points().begin()->second.record; }

  const EndpointsCurve& curve_;
  const Json& disclosure_;
  fs::path folder_;
  Json system_;
  int64_t most_ = 0;  // C_max of the rules
  std::vector<EndpointsBand> bands_;
  std::vector<std::string> missing_, notes_;
};

// The highest concurrency that was measured stands for what the system supports until the disclosure says another.
int64_t declared_most(const EndpointsCurve& curve, const Json& system) {
  const auto declared = system.find("max_supported_concurrency");
  if (declared == system.end()) return curve.points().rbegin()->first;
  if (!declared->is_number_integer()) throw Error(ErrorKind::input, "max_supported_concurrency of the disclosure is not a whole number");
  return declared->get<int64_t>();
}

TreeWriter::TreeWriter(const EndpointsCurve& curve, const Json& disclosure, const std::string& folder)
    : curve_(curve), disclosure_(disclosure), folder_(folder) {
  curve.check();
  system_ = endpoints_system(first());
  system_.merge_patch(disclosure["system"]);
  most_ = declared_most(curve, system_);
  system_["max_supported_concurrency"] = most_;
  Json node = endpoints_node(first());
  node.merge_patch(disclosure["node"]);
  note_missing("system", system_, system_fields);
  note_missing("node", node, node_fields);
  system_["node_types"] = Json::array({node});
  bands_ = endpoints_bands(curve.points().begin()->first, most_);
}

void TreeWriter::check_places() const {
  for (const auto& [clients, point] : curve_.points()) {
    if (band_of(bands_, clients) == nullptr)
      throw Error(ErrorKind::input, fmt::format("concurrency {} is above the bands, which end at {} for a max_supported_concurrency of {}: "
                                                "declare a higher one, or leave the point out with --select",
                                                clients, bands_.back().last, most_));
  }
  if (fs::exists(folder_) && !fs::is_empty(folder_))
    throw Error(ErrorKind::input, fmt::format("{} is not empty: name a new folder with --output", folder_.string()));
}

void TreeWriter::note_missing(const std::string& part, const Json& json, const std::vector<std::string>& fields) {
  for (const std::string& field : fields) {
    if (!json.contains(field) || json[field] == mlperf_unknown) missing_.push_back(part + "." + field);
  }
}

// A folder's name: letters, digits, '-' and '_'.
std::string folder_name(std::string name) {
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0 && c != '-'; }, '_');
  return name;
}

Json TreeWriter::point_json(int64_t clients, const EndpointsPoint& point) const {
  Json json = endpoints_point_names(point);
  json["division"] = system_["division"];
  json.merge_patch(disclosure_["point"]);
  json.update(endpoints_point(point, clients));
  json["region"] = band_of(bands_, clients)->name;
  json["max_supported_concurrency"] = most_;
  if (clients == most_) json["offline"] = "elected";
  return json;
}

void TreeWriter::write_point(int64_t clients, const EndpointsPoint& point) {
  Json json = point_json(clients, point);
  if (clients == curve_.points().begin()->first) note_missing("point", json, point_fields);
  const fs::path folder =
      fs::path("results") / folder_name(system_["system_name"]) / json["model_name"].get<std::string>() / fmt::format("r{}", clients);
  Json system = system_;
  system["tps_utilization"] = point.summary.tokens_per_s / curve_.most_tokens_per_s();
  put(folder / "point.yaml", dump_indented(json));
  put(folder / "config.yaml", dump_indented(endpoints_config(point.record)));
  put(folder / "system_desc.json", dump_indented(system));
  put(folder / "result_summary.json", point.summary.json);
}

void TreeWriter::write_shared() const {
  std::string commands;
  for (const auto& [clients, point] : curve_.points()) commands += "    " + run_command_of(point.record.point) + "\n";
  put("src/deepgap/README.md",
      fmt::format("# deepgap {}\n\nMeasure the points again:\n\n{}", mlperf_known(first(), "deepgap.version"), commands));
  put(fs::path("docs") / "README.md", method);
  if (!disclosure_["power"].empty())
    put(fs::path("results") / folder_name(system_["system_name"]) / "system_power.json", dump_indented(disclosure_["power"]));
}

// What the rules want of a curve as a whole.
void TreeWriter::note_curve() {
  const auto& points = curve_.points();
  if (points.size() < fewest_points)
    notes_.push_back(fmt::format("the curve has {} points, and a submission needs {}", points.size(), fewest_points));
  if (points.begin()->first > endpoints_ultra_low)
    notes_.push_back(fmt::format("no point is at a concurrency up to {}", endpoints_ultra_low));
  for (size_t i = 1; i + 1 < bands_.size(); ++i) {
    const auto inside = [&](const auto& each) { return band_of(bands_, each.first) == &bands_[i]; };
    if (std::none_of(points.begin(), points.end(), inside))
      notes_.push_back(fmt::format("no point is in {}, concurrency {} to {}", bands_[i].name, bands_[i].first, bands_[i].last));
  }
  if (!points.contains(most_)) notes_.push_back(fmt::format("no point is at concurrency {}, so there is no Offline result", most_));
  if (system_["division"] == "Standardized" && disclosure_["power"].empty())
    notes_.push_back("division Standardized needs the part 'power' in --disclosure");
  if (disclosure_["point"].contains("seed_set"))
    notes_.push_back("deepgap draws samples and pauses from one seed of its own, so the seeds are not those of the disclosed seed set");
  if (!missing_.empty()) notes_.push_back(fmt::format("not known, give them with --disclosure: {}", fmt::join(missing_, ", ")));
  notes_.push_back("deepgap scores no answers: add accuracy_results.json to the points that need it");
}

std::vector<std::string> TreeWriter::write() {
  check_places();
  write_shared();
  for (const auto& [clients, point] : curve_.points()) write_point(clients, point);
  notes_ = curve_.notes();
  note_curve();
  return std::move(notes_);
}

}  // namespace

std::vector<std::string> write_endpoints_tree(const EndpointsCurve& curve, const Json& disclosure, const std::string& folder) {
  return TreeWriter(curve, disclosure, folder).write();
}

}  // namespace deepgap
