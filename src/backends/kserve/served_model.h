// The description of a KServe v2 server and of one of its models, as far as a client needs it, and its conversion to a Graph.
#pragma once

#include "backends/kserve/settings.h"

#include <deepgap/graph.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace deepgap {

struct ModelName {
  std::string name, version;  // version: empty where the server is to choose
};
// "resnet50" or "resnet50:3". Throws Error{usage}.
ModelName model_name(const std::string& text);

// "FP32"; throws Error{refused} for one that no tensor here has.
bool is_datatype(std::string_view name);  // for names of the protocol
DataType datatype_from(std::string_view name);
std::string_view datatype_name(DataType type);

struct ServedTensor {
  std::string name;
  DataType type = DataType::f32;
  std::vector<int64_t> dims;  // -1: open
};

struct ServedModel {
  ModelName name;
  std::string server;  // "triton 2.51.0"
  std::vector<ServedTensor> inputs, outputs;
  std::optional<int64_t> max_batch;  // the most in a request; nullopt: the server does not say; 0: it makes no batches
  bool binary = false;               // takes and answers tensors as bytes
  bool has_statistics = false;
};

// One node of the domain "kserve" between inputs and outputs. A leading open size is the batch, others are open symbols.
Graph graph_of(const ServedModel& model);

// Reads the JSON of /v2 and of /v2/models/NAME. Throws Error{refused} if it is not metadata.
void read_server(std::string_view json, ServedModel& model);
void read_model(std::string_view json, ServedModel& model);
void read_config(std::string_view json, ServedModel& model);  // Triton's /config

// Returns a tensor as the metadata describe it. Throws Error{refused} if it is not a tensor, or not one that is measured.
ServedTensor served_tensor(const std::string& name, const std::string& datatype, const std::vector<int64_t>& dims,
                           const std::string& model);

// Throws Error{refused} for as many inputs or outputs ("inputs") as no model has.
void require_tensors(size_t count, const char* which, const std::string& model);

// Asks the server. Throws Error{refused} for one that is not there, none of KServe v2, or not ready; {usage} for a model that it does not
// have.
ServedModel ask_for_model_by_http(const ServerAddress& address, const std::string& model, const KserveSettings& settings);

std::string model_path(const ModelName& name);  // "/v2/models/NAME/versions/3"

}  // namespace deepgap
