// The second half of keep=auto: a network may answer wrongly although none of its nodes does much wrong by itself, if its end amplifies one
// node's error more than another's. Its outputs show which nodes these are.
//
// Method: sensitivity analysis, one node in INT8 at a time, and the most sensitive ones left out (Wu et al., "Integer Quantization for Deep
// Learning Inference", 2020, section 5.1). The powers of the errors are taken to add up, and the answer is measured.
#pragma once

#include "quantize/quantizer.h"

#include <deepgap/model.h>
#include <deepgap/tensor.h>

#include <optional>
#include <span>
#include <vector>

namespace deepgap {

// The most samples: outputs of one sample may be far worse than those of the next, so that few show little.
inline constexpr size_t output_samples = 16;

// While the outputs are below settings.min_output_sqnr_db, the nodes to which they are most sensitive stay in FP32, as few as will do. All
// are quantized again where half of the multiply-accumulates would leave INT8, since that does not answer what was asked. The quantizer has
// judged its nodes. Returns the outputs' SQNR in the end, the worst output's; nothing where the network has no outputs of floating point,
// or some whose sizes hang on what was computed. Slow where outputs are wrong: runs the network once for each node. Throws as run_fp32().
std::optional<double> keep_for_outputs(const Model& model, std::span<const std::vector<TensorView>> samples,
                                       const QuantizeSettings& settings, int threads, Quantizer& quantizer);

}  // namespace deepgap
