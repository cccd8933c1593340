// Checks steps of training: the losses of a few and the weights after them, against LibTorch in FP32 on the CPU from the same weights, with
// the same samples. docs/reference/engines/libtorch.md says what that promises.
#pragma once

#include "worker/check_sessions.h"
#include "worker/group.h"
#include "worker/heartbeat.h"
#include "worker/instances.h"
#include "worker/order.h"

#include <deepgap/record.h>

#include <atomic>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace deepgap {

// The results of some steps. Only evenly spaced elements of each weight are kept, so that a cache of such results stays small.
struct TrainResult {
  std::vector<double> losses;
  std::map<std::string, Tensor> weights;  // float32, of rank 1
};

// Runs steps of `batch` samples that cycle `samples`, and returns their losses. Throws the engine's reason when one failed.
std::vector<double> run_steps(Target& target, Clock& clock, std::span<const uint32_t> samples, int64_t batch, int64_t steps,
                              const std::atomic<bool>& interrupted);
std::map<std::string, Tensor> sampled_weights(const std::map<std::string, Tensor>& weights);

// Why steps on the Point's devices cannot be compared with the reference; empty: they can. Dropout draws other numbers on a GPU than on the
// CPU from the same seed.
std::string no_train_reference(const Point& point, const Graph& graph);

std::optional<TrainResult> find_train_reference(const WorkOrder& order, const PointOptions& options, const Group::Inputs& inputs);
// Throws Error{refused} where LibTorch is not here.
void provide_train_reference(const WorkOrder& order, const PointOptions& options, const Group::Inputs& inputs, Clock& clock);

// Pure. `begin` are the weights before the first step. The SQNR is that of how far the weights moved, over all of them.
CheckResult compare_training(const TrainResult& reference, const TrainResult& result, const std::map<std::string, Tensor>& begin);

// Runs the steps on a loaded Session, twice: after reset() the losses must be the same. `reference` nullptr: nothing to compare with.
// Leaves the Session reset, and facts train.memory.KIND_bytes.
SessionsCheck check_training(const Instances::Instance& instance, const OrderContext& context, const TrainResult* reference);

}  // namespace deepgap
