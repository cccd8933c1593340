// The outputs that `deepgap check` compares: an engine's, computed in a child process, or those of a folder in the layout of ONNX's tests.
#pragma once

#include "worker/check.h"
#include "worker/sample_outputs.h"

#include <deepgap/tensor.h>

#include <nlohmann/json_fwd.hpp>

#include <optional>
#include <string>
#include <vector>

namespace deepgap {

struct CheckedSample {
  std::string name;
  std::vector<Tensor> outputs;
};
struct CheckedOutputs {
  std::string version;                    // version of the engine, or the folder
  Precision judged_as = Precision::fp32;  // judged_precision() of the model; not used for a folder
  std::vector<std::string> names{};       // names of the outputs
  std::vector<CheckedSample> samples{};
  std::string random{}, overflow{};  // as OutputsMade says
};

// Each engine in a child of its own: what it prints, allocates or crashes stays there. Throws as call_child().
CheckedOutputs outputs_of(const OutputsRequest& request);
// Throws Error{input} where they hold NaN, with which nothing can be compared.
void require_no_nan(const CheckedOutputs& expected);
// {"version","samples","nodes"}, as sample_outputs.h says of NodeChecks.
nlohmann::json nodes_of(const OutputsRequest& request);
// Reads the model's outputs by their names or numbers. Throws Error{input} if the folder has other outputs.
CheckedOutputs outputs_in_folder(const std::string& folder, const std::vector<std::string>& names);

// Throws Error{input} where the numbers of outputs differ.
CheckResult compare(const CheckedOutputs& expected, const CheckedOutputs& actual, double min_db);

// Top-1 agreement on the samples of which the reference itself is sure: its best class is `margin` more probable than its second.
struct Confident {
  int64_t samples = 0, same = 0;
  std::optional<double> agreement() const;  // none without samples
};
Confident confident_agreement(const CheckedOutputs& expected, const CheckedOutputs& actual, double margin);

}  // namespace deepgap
