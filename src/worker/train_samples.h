// A Dataset whose samples have their training's target behind their inputs (deepgap/train.h): the class of their label, or one made from
// the seed if they have no label; for mse a one for that class, or numbers from the seed if the network is not a classifier.
#pragma once

#include <deepgap/dataset.h>
#include <deepgap/graph.h>
#include <deepgap/train.h>

#include <memory>

namespace deepgap {

// `dataset` outlives it. `outputs` are the network's.
std::unique_ptr<Dataset> make_train_samples(Dataset& dataset, const std::vector<TensorInfo>& outputs, const TrainSettings& settings);

}  // namespace deepgap
