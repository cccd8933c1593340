// TrainSettings: what a step of training is: how its loss is made and how the weights follow. Plain data; part of EngineRequest.
//
// A Session of task `train` runs one step a query: forward, loss, backward, update, over the query's samples. Each staged sample has one
// tensor more than the Graph has inputs, the target, behind the others: for cross_entropy the class, int64 of shape [1]; for mse what the
// Graph's first output should be, float32. Its one output is the step's loss, float32 of shape [1], as it was before the update.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace deepgap {

enum class Optimizer : uint8_t { sgd, momentum, adam, adamw };
enum class Loss : uint8_t { cross_entropy, mse };  // means over the batch

struct TrainSettings {
  Optimizer optimizer = Optimizer::momentum;
  Loss loss = Loss::cross_entropy;
  double learning_rate = 0.01;
  double momentum = 0.9;     // used by optimizer momentum; adam and adamw use 0.9, 0.999 and 1e-8
  double weight_decay = 0;   // adamw takes it times the learning rate off the weights, the others add it to the gradients
  double loss_scale = 0;     // 0: as the precision needs it, and adapted; 1: none
  int64_t accumulation = 1;  // parts that a query's samples are cut into; their gradients are added up before the update
  uint64_t seed = 1;         // seed for Dropout
  // The place of this process among several that train the same weights, each with samples of its own: gradients are averaged over all.
  // They find each other by LoadOptions::exchange.
  int rank = 0, ranks = 1;

  auto operator<=>(const TrainSettings&) const = default;
};

// Bytes that a step of training holds, by kind: {"weights", ...}, {"gradients"}, {"optimizer_state"}, {"activations"} (what the forward
// pass leaves for the backward pass). Empty if the engine does not report them.
using MemoryKinds = std::map<std::string, int64_t>;

}  // namespace deepgap
