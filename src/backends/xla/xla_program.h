// A network as programs of XLA: one for each batch size, which share the weights on the device.
#pragma once

#include "backends/xla/pjrt_client.h"
#include "backends/xla/xla_settings.h"

#include <deepgap/error.h>
#include <deepgap/graph.h>

#include <cstdint>
#include <exception>
#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace deepgap {

struct XlaText {
  std::string text;
  std::vector<Tensor> weights;        // arguments behind the inputs, in the types of the Graph
  std::vector<DataType> input_types;  // types of the arguments
  std::vector<DataType> output_types;
  std::vector<Shape> output_shapes;
  std::map<size_t, std::string> nodes;  // "operator Conv (node 'c1')", by the line on which its part of the text begins
};
// Writes a Graph at a batch size. `ready`: inputs come in the type in which they are computed. Throws Error{refused} naming operator and
// node.
XlaText xla_text(const Graph& graph, int64_t batch, const XlaSettings& settings, bool ready);
// Writes a program that converts the numbers of one input to the type in which they are computed.
std::string xla_conversion(DataType from, DataType to, const Shape& shape);

class XlaProgram {
 public:
  // The client outlives the program.
  XlaProgram(Graph graph, const PjrtClient& client, const XlaSettings& settings, bool ready);

  // Compiles for a batch size, if that was not done. Not thread-safe. Throws Error.
  void prepare(int64_t batch);
  bool is_prepared(int64_t batch) const { return parts_.contains(batch); }
  const XlaText& text(int64_t batch) const { return parts_.at(batch).text; }  // without the text itself
  // Thread-safe for batch sizes that are prepared. Throws PjrtFailure.
  std::vector<PjrtBuffer> run(int64_t batch, const std::vector<PjrtBuffer>& inputs) const;

 private:
  struct Part {
    XlaText text;
    PjrtExecutable program;
    std::vector<PjrtBufferObject*> weights;
  };
  struct Weight {
    Tensor tensor;  // kept, so that no other weight's bytes come to lie where its bytes are
    PjrtBuffer buffer;
  };
  PjrtBufferObject* uploaded(const Tensor& weight);

  Graph graph_;
  const PjrtClient& client_;
  XlaSettings settings_;
  bool ready_;
  std::map<std::tuple<const std::byte*, DataType, Shape>, Weight> weights_;
  std::map<int64_t, Part> parts_;
};

// A failure in our words; one of compiling names the node that the line of its message ("-:12:5: error") belongs to. `doing`: "does not
// load the model".
Error xla_error(const PjrtFailure& failure, const std::string& doing, const std::map<size_t, std::string>& nodes = {});
Error xla_run_error(const std::exception& failure);  // why a query failed

}  // namespace deepgap
