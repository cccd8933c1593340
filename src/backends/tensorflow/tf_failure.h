// TensorFlow's failures in our words: one line, the kind of Error they are, and the operator and node that they name.
#pragma once

#include "backends/tensorflow/tf_objects.h"
#include "backends/tensorflow/tf_scope.h"

#include <deepgap/error.h>
#include <deepgap/graph.h>

#include <string>

namespace deepgap {

// Its message on one line, without the places and lists of kernels that it adds.
std::string tf_words(const std::string& message);
// `doing`: "loading the model". `scope` finds the node that an operation was made for.
Error tf_error(const TfFailure& failure, const std::string& doing, const TfScope& scope, const Graph& graph);
Error tf_error(const TfFailure& failure, const std::string& doing);

}  // namespace deepgap
