// A Dataset whose samples have the target of their training behind their inputs (deepgap/train.h): the class of their label, or one made
// from the seed where nothing tells it; for mse a one for that class, or numbers from the seed where the network is no classifier.
#pragma once

#include <deepgap/dataset.h>
#include <deepgap/graph.h>
#include <deepgap/train.h>

#include <memory>

namespace deepgap {

// `dataset` outlives it. `outputs` are the network's.
std::unique_ptr<Dataset> make_train_samples(Dataset& dataset, const std::vector<TensorInfo>& outputs, const TrainSettings& settings);

}  // namespace deepgap
