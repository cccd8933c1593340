// The backend under test and what a conformance test does with it: load a Graph, run samples, compare with the reference interpreter.
#pragma once

#include "graph_builder.h"

#include <deepgap/backend.h>

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace deepgap::conformance {

// The backend of this process, which main() opens once.
Backend& backend();
void set_backend(Backend* opened);
Placement placement();                     // on the device that was set, or its first one
void set_device(const std::string& name);  // "cuda:0"
// The null backend answers zeros: everything but the values holds for it.
bool computes();

// Names the seed of everything random, for every message and for --seed.
uint64_t seed();
void set_seed(uint64_t value);
int rounds();  // random shapes for each operator in fp32
void set_rounds(int value);

// Options that the backend gets in every load, from --option.
std::map<std::string, std::string>& given_options();

// A Graph as the backends take it.
class GraphModel final : public Model {
 public:
  explicit GraphModel(Graph graph);
  GraphModel(Graph graph, std::string onnx);  // whose file is not the one that we would write
  const std::string& name() const override { return name_; }
  const Graph& graph() const override { return graph_; }
  const GraphSummary& summary() const override { return summary_; }
  std::span<const std::byte> onnx() const override { return std::as_bytes(std::span(onnx_)); }
  const std::string& file() const override { return file_; }

 private:
  std::string name_ = "conformance", file_, onnx_;
  Graph graph_;
  GraphSummary summary_;
};

// Returns the default request to the backend: this precision, the device under test, and the given options.
EngineRequest request_in(const std::string& precision);
// Returns what the backend says about it for such a network.
Support supports(const std::string& precision, const GraphSummary& summary);
// Returns those of fp32, tf32, bf16, fp16 and mixed that the backend supports for it.
std::vector<std::string> float_precisions(const GraphSummary& summary);

// Sample after sample, one tensor for each input.
using Samples = std::vector<std::vector<Tensor>>;
Samples random_samples(Random& random, const Graph& graph, size_t count);
// These samples as one batch: a tensor for each input.
std::vector<Tensor> batch_of(const Graph& graph, const Samples& samples, const std::vector<uint32_t>& chosen);
// An input of `chosen` samples as one batch.
Tensor joined_samples(const Samples& samples, const std::vector<uint32_t>& chosen, size_t input);
// Returns the results of the reference interpreter.
std::vector<Tensor> reference(const Graph& graph, const Samples& samples, const std::vector<uint32_t>& chosen);

// Every node with the shapes of its inputs and its attributes in one line, for messages.
std::string describe(const Graph& graph);

// The first operator that the evaluator does not have, or "".
std::string not_evaluated(const Graph& graph);

// A loaded Session that remembers what it delivered.
class Rig {
 public:
  // Throws what load() throws.
  Rig(const Model& model, std::vector<int64_t> batches, int slots = 1, int threads = 1, const std::string& precision = "fp32",
      const std::map<std::string, std::string>& engine_options = {}, bool samples_change = false);
  void stage(const Samples& samples);
  void enqueue(int slot, const std::vector<uint32_t>& samples, uint64_t tag) { session->enqueue(slot, samples, tag); }
  // Enqueues and drains; the status of its Done.
  Status run(int slot, const std::vector<uint32_t>& samples);
  std::vector<Tensor> copy_outputs(int slot) const;

  std::unique_ptr<Clock> clock;
  std::function<void(const Done&)> heard;  // called with each, after it was noted
  // Read these when nothing is pending.
  std::map<uint64_t, std::vector<Status>> delivered;  // statuses by tag
  std::vector<Mark> marks;                            // marks of the last answer
  std::string last_error() const { return error_; }   // the last failure's

 private:
  void note(const Done& done);
  void keep_inputs(const std::vector<uint32_t>& samples) const;

  std::mutex mutex_;  // guards what was delivered
  std::string error_;
  Samples samples_;  // the Session may refer to them
  uint64_t next_tag_ = 1'000'000;

 public:
  std::unique_ptr<Session> session;  // last, so that it goes first: it may still deliver
};

// A small network with everything that the zoo's have: convolutions with and without groups, batch norms, activations, a residual, pools
// and a classifier.
Graph small_network(uint64_t seed);
// A convolution and its activation with QuantizeLinear and DequantizeLinear around: u8 activations, i8 weights per channel.
Graph quantized_convolution(uint64_t seed);

}  // namespace deepgap::conformance
