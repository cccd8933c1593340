// Model-local functions of ONNX files: operators that a file defines by nodes of its own, as exporters of PyTorch write them. A call
// becomes the function's nodes, with attributes put in and values named apart, while the nodes are parsed. Used by the ONNX reader only.
#pragma once

#include "model/wire.h"

#include <deepgap/graph.h>

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace deepgap {

// Text aliases the file's bytes.
struct LocalFunction {
  std::string_view name;
  std::vector<std::string_view> inputs, outputs;
  std::vector<WireReader> nodes;     // messages
  std::vector<WireReader> defaults;  // attributes with the value they have where a call gives none
  std::optional<int64_t> opset;      // version of ONNX's own operators in it
  int64_t bytes = 0;
  bool open = false;  // a call is being inlined
};

// Domain, name, overload. The domain of ONNX's own operators is "".
using FunctionKey = std::tuple<std::string_view, std::string_view, std::string_view>;

// The functions of a file, and how much of what they may become is used. A small file of functions that call each other several times
// stands for more nodes than anybody has memory for; nodes are counted by the reader.
struct LocalFunctions {
  std::map<FunctionKey, LocalFunction> all;
  std::deque<std::string> names;  // made for values and nodes; parts alias them
  int64_t name_bytes = 0, inlined_bytes = 0;
  int depth = 0;
  int64_t calls = 0;

  void add(WireReader message);  // a FunctionProto; throws Error{input}
  LocalFunction* find(const FunctionKey& key);
  std::string_view keep(std::string name);
};

// The names of one call: formal inputs and outputs stand for the call's, everything else gets a name that is the call's own.
class FunctionScope {
 public:
  // Counts the call; throws Error{input} for recursion, for functions nested too deep or too large, and for more inputs or outputs than the
  // function has. `call` has name, inputs, outputs and attributes.
  FunctionScope(LocalFunctions& functions, LocalFunction& function, std::string_view call_name, const std::vector<std::string_view>& inputs,
                const std::vector<std::string_view>& outputs, std::map<std::string, Attribute> attributes);
  ~FunctionScope();
  FunctionScope(const FunctionScope&) = delete;
  FunctionScope& operator=(const FunctionScope&) = delete;

  std::string_view value_name(std::string_view name);  // "" stays
  std::string_view node_name(std::string_view name);
  const Attribute* attribute(const std::string& name) const;  // nullptr: the call does not give it
  // An output of the function that is one of its inputs: {the call's input, the call's output}.
  const std::vector<std::pair<std::string_view, std::string_view>>& passed_through() const { return passed_through_; }
  // Throws Error{input} where the operator is not the same in the function's opset and in the file's.
  void require_same_operator(std::string_view op, int opset) const;

 private:
  LocalFunctions& functions_;
  LocalFunction& function_;
  std::string prefix_;
  std::map<std::string_view, std::string_view> values_;
  std::map<std::string, Attribute> attributes_;
  std::vector<std::pair<std::string_view, std::string_view>> passed_through_;
};

}  // namespace deepgap
