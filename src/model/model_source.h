// Opens the Model that a user names ("resnet50", "x.onnx"): the one way in for workers and commands. It runs only in a child process that
// may use memory: the parent inspects no model.
#pragma once

#include "model/kernel_work.h"
#include "model/steering_inputs.h"
#include "model/step_work.h"

#include <deepgap/model.h>
#include <deepgap/task.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace deepgap {

struct ModelRequest {
  std::string name;  // zoo name, with options as "resnet50:width=0.5,classes=10", or a path (it exists or holds '/' or ".onnx")
  std::string weights =
      "seeded";  // seeded, a named set of the zoo ("imagenet"), or a safetensors path; ONNX files: "onnx" or "seeded" = their own
  uint64_t seed = 1;
  std::map<std::string, std::vector<int64_t>> shapes;  // input -> dims, from --shape; binds dynamic sizes other than the batch
  std::string cache_dir;                               // directory for generated weights; empty: no cache
  std::string data_dir;                                // where set-up put named weights; empty: beside the program, see default_data_dir()
  // train: a zoo network with Dropout where its source has it; generate: an ONNX file as a decoder (model/decoder/onnx_decoder.h).
  Task task = Task::infer;
  InputNumbers numbers{};  // the numbers that made-up samples hold in inputs, from --input
  std::string test_set{};  // an ONNX test set (model/onnx_test_set.h) whose tensors give the sizes that `shapes` leaves open
};

// Throws Error{usage} for an unknown name or option ("did you mean"), Error{input} naming file and cause for anything wrong in a file.
std::shared_ptr<const Model> open_model(const ModelRequest& request);

// The same with the sizes of the ONNX test folder that `dataset` names, if it is one.
ModelRequest sized_by_dataset(ModelRequest request, const std::string& dataset);

// Throws Error{usage} with an example of --shape, one that the network takes, where a size other than the batch is open.
void require_sizes(const Graph& graph, const std::string& name);

bool is_model_file(const std::string& name);
// The tree's data/ folder: $DEEPGAP_DATA, else found relative to the executable (../../data in the build, ../share/deepgap/data in a
// bundle).
std::string default_data_dir();

// Summarizes as above, but skips weights that are costly to make: enough for counts, shapes and operators. content_hash covers structure.
GraphSummary summarize_model(const ModelRequest& request);
// A summary with the inputs that decide what is computed.
struct ModelOutline {
  GraphSummary summary;
  std::vector<SteeringInput> steering;
  std::string open_sizes;               // what require_sizes() throws of it; empty: nothing
  std::shared_ptr<const Graph> shapes;  // the file's Graph without the contents of weights; nullptr: the network takes any batch
};
// Returns what contradicts itself in the network with this batch, or "". A file may leave the batch open and have one written into its
// nodes, such as a Reshape to [1,-1].
std::string why_not_batch(const ModelOutline& outline, int64_t batch);
ModelOutline outline_model(const ModelRequest& request);
ModelOutline outline_of(const Model& model);
// Counts the same kernel by kernel. Throws Error{usage} where sizes other than the batch are open.
NetworkWork network_work_of(const ModelRequest& request);
// Counts a step of training, in the network's training form. Throws like network_work_of().
StepWork step_work_of(ModelRequest request, const TrainSettings& settings);

}  // namespace deepgap
