// An MLPerf run as a Point's options and scenario ask for it: a round, the benchmark's rules in it, and what the user changes of them.
#pragma once

#include "mlperf/loadgen/conf_file.h"
#include "mlperf/loadgen/conf_keys.h"
#include "mlperf/loadgen/settings.h"

#include <deepgap/backend.h>

#include <map>
#include <string>
#include <vector>

namespace deepgap {

// mlperf (the round), mlperf_mode, mlperf_test, mlperf_model, mlperf_samples, mlperf_scale, and mlperf_KEY for each key of user.conf.
const std::vector<OptionInfo>& loadgen_options();

// The options that say what `file` says of `model` and `scenario` (deepgap's name: server). Throws Error{input} with file and line.
std::map<std::string, std::string> options_of_conf(const ConfFile& file, ConfRole role, const std::string& model,
                                                   const std::string& scenario);

// Reads the options of an audit.config, which LoadGen reads for any model and after all other settings: an entry for one model is an error.
// If it is one of the tests that have a name, that is its mlperf_test.
std::map<std::string, std::string> options_of_audit(const ConfFile& file, const std::string& scenario);

struct LoadgenRunSettings {
  LoadgenRound round;
  LoadgenSettings settings;
  // Why a result is none by the round's rules, whatever its verdict; empty: nothing is known against it.
  std::vector<std::string> deviations;
  double accuracy_target = 0;  // share of right answers that an accuracy run must reach; 0: the benchmark is not known or has none
};

// Returns how many samples a made-up data set should have: mlperf_samples, else as many as the benchmark's own, else 1024. Throws
// Error{usage}.
int64_t loadgen_library_size(const std::map<std::string, std::string>& options, const std::string& model);

// `options`: a Point's; others than loadgen_options() are passed over, and `mlperf` must be among them. `scenario` is deepgap's name,
// `model` the Point's, `samples` how many its Dataset has. Throws Error{usage}, check_settings included.
LoadgenRunSettings loadgen_run_settings(const std::map<std::string, std::string>& options, const std::string& scenario,
                                        const std::string& model, int64_t samples);

}  // namespace deepgap
