// The options of the tensorflow backend, and what a session of the library is made with.
#pragma once

#include "base/option_table.h"

#include <deepgap/backend.h>

#include <string>

namespace deepgap {

struct TfSettings {
  int threads = 1;
  int inter_op = 1;                           // operators computed at a time
  bool xla = false;                           // clusters are compiled by XLA
  bool onednn = true;                         // kernels of oneDNN are used
  bool optimizes = true;                      // Grappler changes the graph
  bool mixed = false;                         // products are computed in BF16
  std::string package;                        // the folder of a SavedModel that is run instead of the Graph; empty: none
  std::string signature = "serving_default";  // signature of the SavedModel
};

const OptionTable<TfSettings>& tf_options();
// Reads the options, the request's threads and its precision. Throws Error{usage} naming the option and what it takes.
TfSettings tf_settings(const EngineRequest& request);
// Returns why this is not run, as far as the summary shows; empty when it is.
std::string tf_refusal(const EngineRequest& request, const GraphSummary& graph);

// Returns why products are not computed in BF16 here; empty if they are. Grappler changes nothing where oneDNN has no BF16 for the CPU.
std::string tf_bf16_defect(bool has_avx512);

// A ConfigProto, serialized.
std::string tf_config(const TfSettings& settings);
// Sets what the library reads from the environment alone, once a process: before its first session.
void set_tf_environment(const TfSettings& settings);

}  // namespace deepgap
