// Reads what TensorFlow reports about a run: a RunMetadata, field by field.
#pragma once

#include "backends/tensorflow/tf_scope.h"

#include <deepgap/session.h>

#include <string>
#include <vector>

namespace deepgap {

// RunOptions, serialized: the times of all operations; the graphs as they were run.
std::string tf_trace_options();
std::string tf_graph_options();

// Returns the times of a run with tf_trace_options(). Operations are summed up by the node that they were made for; those that Grappler
// made have their own names.
std::vector<LayerTiming> tf_layer_timings(const TfBuffer& metadata, const TfScope& scope);

struct TfProduct {
  std::string operation, precision;
};
// Returns the operations that multiply in a run with tf_graph_options(), and their types.
std::vector<TfProduct> tf_products(const TfBuffer& metadata);

}  // namespace deepgap
