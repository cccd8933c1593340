// TensorFlow's SavedModels, as far as deepgap must know them: the signature that is run. Its graph and weights are read by TensorFlow
// alone.
#pragma once

#include <deepgap/graph.h>
#include <deepgap/tensor.h>

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>

namespace deepgap {

inline constexpr const char* saved_model_domain = "tensorflow";
inline constexpr const char* saved_model_op = "SavedModel";
inline constexpr const char* usual_signature = "serving_default";

struct SignaturePort {
  std::string tensor;          // "serving_default_x:0"
  int64_t type = 0;            // TensorFlow's number
  std::optional<Shape> shape;  // -1: any
};
struct Signature {
  std::map<std::string, SignaturePort> inputs, outputs;
};

// Reads the signatures from the bytes of a MetaGraphDef. Throws Error{input}.
std::map<std::string, Signature> read_signatures(std::span<const std::byte> meta_graph);

// "DIR" or "DIR:signature=NAME", where DIR has a saved_model.pb; nullopt for anything else.
struct SavedModelName {
  std::string folder;
  std::string signature;  // empty: serving_default, or the only one
};
std::optional<SavedModelName> saved_model_named(const std::string& model);

// A Graph of one node, tensorflow.SavedModel, with the inputs and outputs of the signature. Its attributes are `folder`, `signature` and a
// hash of what the folder holds. Throws Error{input} for a file that is not a SavedModel, and Error{usage} naming the signatures for one
// that it does not have.
Graph saved_model_graph(const SavedModelName& named);

}  // namespace deepgap
