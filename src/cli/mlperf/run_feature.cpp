// Flags of `deepgap run` for MLPerf runs: LoadGen's configuration files, its logs, and shorter runs (docs/how-to/run-mlperf.md).
#include "cli/run_feature.h"
#include "base/file.h"
#include "base/registry.h"
#include "base/text.h"
#include "cli/file_kind.h"
#include "cli/written_paths.h"
#include "mlperf/loadgen/run_options.h"
#include "run/read_in_child.h"

#include <deepgap/error.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <map>

namespace deepgap {
namespace {

ConfFile read_conf(const std::string& path) {
  read_in_child({{"kind", "conf"}, {"path", path}}, path, {});
  return ConfFile::parse(read_text(path), path);
}

// A file is read for one run: the one value that was given for the axis.
std::string one_of(const AxisFlags& given, const std::string& file, const char* axis) {
  const std::string text = given.text(axis);
  const auto values = text.empty() ? std::vector<std::string>() : parse_axis_values(text, axis);
  if (values.size() == 1) return values[0];
  throw Error(ErrorKind::usage, fmt::format("{} applies to one run: give one --mlperf, one --model and one --scenario", file));
}

std::map<std::string, std::string> options_of_audit_file(const std::string& path, const AxisFlags& given, const std::vector<Axis>& axes) {
  one_of(given, path, "mlperf");
  auto options = options_of_audit(read_conf(path), one_of(given, path, "scenario"));
  for (const Axis& axis : axes) {
    if (options.contains(axis.name))
      throw Error(ErrorKind::usage, fmt::format("{} sets {}, and so does a flag: leave one of them out", path, axis.name));
  }
  return options;
}

bool is_mlperf(const Grid& grid) { return find_axis(grid.axes, "mlperf") != nullptr; }

constexpr AxisFlag axis_flags[] = {{"--mlperf"}, {"--mlperf-mode"}, {"--mlperf-test"}};

class MlperfFeature final : public RunFeature {
 public:
  std::span<const AxisFlag> axes() const override { return axis_flags; }

  void declare(CLI::App& app, const std::string& what, const std::string& where) override {
    app.add_option("--scale", scale_, "Multiply times and counts of MLPerf runs by this. Short runs are not MLPerf results")
        ->group(what)
        ->type_name("PERCENT");
    app.add_option("--user-conf", user_conf_, "LoadGen's user.conf for an MLPerf run of one model and scenario")
        ->group(what)
        ->type_name("FILE");
    app.add_option("--mlperf-conf", mlperf_conf_, "LoadGen's mlperf.conf [default: the rules of the round]")
        ->group(what)
        ->type_name("FILE");
    app.add_option("--audit-conf", audit_conf_, "LoadGen's audit.config, which overrides everything else")->group(what)->type_name("FILE");
    app.add_option("--mlperf-log", log_, "Write LoadGen's log files of MLPerf runs to this folder")->group(where)->type_name("DIR");
    app.add_flag("--mlperf-trace", trace_, "Write mlperf_log_trace.json as well")->group(where);
  }

  // The files' settings become axes of one value; user.conf goes before mlperf.conf, a flag before both. An audit goes before all of them,
  // and a flag that contradicts it is an error.
  void add_axes(const AxisFlags& given, Overrides& overrides) const override {
    std::map<std::string, std::string> options;
    if (!audit_conf_.empty()) options = options_of_audit_file(audit_conf_, given, overrides.axes);
    for (const auto& [path, role] : {std::pair(user_conf_, ConfRole::user), std::pair(mlperf_conf_, ConfRole::rules)}) {
      if (path.empty()) continue;
      one_of(given, path, "mlperf");
      std::string benchmark = one_of(given, path, "model");
      const Axis* named = find_axis(overrides.axes, "mlperf_model");
      if (named != nullptr && named->values.size() == 1) benchmark = named->values[0];
      options.merge(options_of_conf(read_conf(path), role, benchmark, one_of(given, path, "scenario")));
    }
    for (const auto& [name, value] : options) {
      if (find_axis(overrides.axes, name) == nullptr) overrides.axes.push_back({name, {value}});
    }
  }

  // --scale: MLPerf runs last as their rules say; others in the study, as their duration says.
  void change_study(Study& study) const override {
    if (scale_.empty()) return;
    const auto share = parse_fraction(scale_);
    if (!share || !(*share > 0 && *share <= 1))
      throw Error(ErrorKind::usage,
                  fmt::format("invalid value '{}' for --scale: expected a percentage or fraction, such as 1% or 0.01", scale_));
    for (Grid& grid : study.grids) {
      if (is_mlperf(grid)) {
        set_axis(grid.axes, {"mlperf_scale", {scale_}, {"--scale"}});
      } else if (grid.stopping.duration) {
        grid.stopping.duration = std::max<Nanoseconds>(1, static_cast<Nanoseconds>(static_cast<double>(*grid.stopping.duration) * *share));
      }
    }
  }

  // A run of one Record writes into the folder itself, as LoadGen does; what another run left there is a result that its Record points to.
  void change_settings(RunSettings& settings) const override {
    require_can_be_made("--mlperf-log", log_);
    settings.log_dir = log_.empty() ? "" : std::filesystem::absolute(log_).string();
    settings.log_trace = trace_;
    if (!log_.empty() && !settings.resume && std::filesystem::exists(log_ + "/mlperf_log_summary.txt"))
      throw Error(ErrorKind::usage,
                  fmt::format("--mlperf-log {} has the logs of an earlier run, which would be lost: name another folder", log_));
  }

  std::string note() const override {
    return scale_.empty() ? "" : "runs with --scale are short and are not MLPerf results, whatever their verdict";
  }

 private:
  std::string scale_, user_conf_, mlperf_conf_, audit_conf_, log_;
  bool trace_ = false;
};

const bool registered = Registry<RunFeature>::instance().add("mlperf", [] { return std::make_unique<MlperfFeature>(); }) &&
                        add_file_kind("conf", [](const std::string& path) { ConfFile::parse(read_text(path), path); });

}  // namespace
}  // namespace deepgap
