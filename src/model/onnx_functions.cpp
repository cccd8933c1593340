#include "model/onnx_functions.h"

#include "model/operator_arity.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace deepgap {
namespace {

constexpr int most_depth = 64;
constexpr int64_t most_bytes = int64_t{1} << 30;       // bytes of function bodies, counted at each call
constexpr int64_t most_name_bytes = int64_t{1} << 28;  // bytes of the names made for their values

std::string_view own_domain(std::string_view domain) { return domain == "ai.onnx" ? "" : domain; }

// The version of ONNX's own operators that an OperatorSetIdProto asks for.
std::optional<int64_t> own_version(WireReader import) {
  std::string_view domain;
  std::optional<int64_t> version;
  while (import.next()) {
    if (import.field() == 1) domain = own_domain(import.text());
    if (import.field() == 2) version = import.integer();
  }
  return domain.empty() ? version : std::nullopt;
}

[[noreturn]] void fail(const LocalFunction& function, std::string_view cause) {
  throw Error(ErrorKind::input, fmt::format("function '{}': {}", function.name, cause));
}

void require_distinct(const LocalFunction& function, std::vector<std::string_view> names, std::string_view what) {
  std::sort(names.begin(), names.end());
  if (const auto twice = std::adjacent_find(names.begin(), names.end()); twice != names.end())
    fail(function, fmt::format("{} '{}' is given twice", what, *twice));
}

}  // namespace

void LocalFunctions::add(WireReader reader) {
  LocalFunction function;
  std::string_view domain, overload;
  while (reader.next()) {
    switch (reader.field()) {
      case 1:
        function.name = reader.text();
        break;
      case 4:
        function.inputs.push_back(reader.text());
        break;
      case 5:
        function.outputs.push_back(reader.text());
        break;
      case 7:
        function.nodes.push_back(reader.message());
        function.bytes += static_cast<int64_t>(reader.bytes().size());
        break;
      case 9:
        if (const auto version = own_version(reader.message())) function.opset = version;
        break;
      case 10:
        domain = own_domain(reader.text());
        break;
      case 11:
        function.defaults.push_back(reader.message());
        function.bytes += static_cast<int64_t>(reader.bytes().size());
        break;
      case 13:
        overload = reader.text();
        break;
      default:
        break;
    }
  }
  if (function.name.empty()) reader.fail("a function without a name");
  require_distinct(function, function.inputs, "input");
  require_distinct(function, function.outputs, "output");
  const FunctionKey key{domain, function.name, overload};
  if (!all.emplace(key, function).second) fail(function, fmt::format("it is given twice in domain '{}'", domain));
}

LocalFunction* LocalFunctions::find(const FunctionKey& key) {
  const auto found = all.find(key);
  return found == all.end() ? nullptr : &found->second;
}

std::string_view LocalFunctions::keep(std::string name) {
  name_bytes += static_cast<int64_t>(name.size());
  if (name_bytes > most_name_bytes)
    throw Error(ErrorKind::input, fmt::format("inlined, its functions have names of more than {} MiB", most_name_bytes >> 20));
  return names.emplace_back(std::move(name));
}

FunctionScope::FunctionScope(LocalFunctions& functions, LocalFunction& function, std::string_view call_name,
                             const std::vector<std::string_view>& inputs, const std::vector<std::string_view>& outputs,
                             std::map<std::string, Attribute> attributes)
    : functions_(functions), function_(function), attributes_(std::move(attributes)) {
  if (function.open) fail(function, "it calls itself");
  if (functions.depth >= most_depth) fail(function, fmt::format("functions call each other more than {} deep", most_depth));
  functions.inlined_bytes += function.bytes;
  if (functions.inlined_bytes > most_bytes) fail(function, fmt::format("inlined, functions take more than {} MiB", most_bytes >> 20));
  if (inputs.size() > function.inputs.size() || outputs.size() > function.outputs.size())
    fail(function, fmt::format("it has {} inputs and {} outputs, node '{}' gives {} and {}", function.inputs.size(),
                               function.outputs.size(), call_name, inputs.size(), outputs.size()));
  ++functions.calls;
  prefix_ = call_name.empty() ? fmt::format("{}_call{}/", function.name, functions.calls) : fmt::format("{}/", call_name);
  for (size_t i = 0; i < function.inputs.size(); ++i) values_[function.inputs[i]] = i < inputs.size() ? inputs[i] : std::string_view();
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].empty()) continue;
    const auto [known, is_new] = values_.emplace(function.outputs[i], outputs[i]);
    if (!is_new) passed_through_.emplace_back(known->second, outputs[i]);
  }
  function.open = true;
  ++functions.depth;
}

FunctionScope::~FunctionScope() {
  function_.open = false;
  --functions_.depth;
}

std::string_view FunctionScope::value_name(std::string_view name) {
  if (name.empty()) return name;
  const auto [found, is_new] = values_.emplace(name, std::string_view());
  if (is_new) found->second = functions_.keep(prefix_ + std::string(name));
  return found->second;
}

std::string_view FunctionScope::node_name(std::string_view name) {
  return name.empty() ? name : functions_.keep(prefix_ + std::string(name));
}

const Attribute* FunctionScope::attribute(const std::string& name) const {
  const auto found = attributes_.find(name);
  return found == attributes_.end() ? nullptr : &found->second;
}

void FunctionScope::require_same_operator(std::string_view op, int opset) const {
  if (!function_.opset || *function_.opset == opset) return;
  const auto here = arity_of(op, opset), there = arity_of(op, static_cast<int>(std::clamp<int64_t>(*function_.opset, 0, 1000)));
  if (here && there && here->since != there->since)
    fail(function_, fmt::format("it is written for opset {}, the file for {}, and {} differs between them", *function_.opset, opset, op));
}

}  // namespace deepgap
