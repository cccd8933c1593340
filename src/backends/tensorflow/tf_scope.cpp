#include "backends/tensorflow/tf_scope.h"

#include "model/eval/element_types.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstring>

namespace deepgap {
namespace {

// Letters, digits and what else a name there may have.
std::string usable_name(const std::string& name) {
  std::string made;
  for (const char c : name) made += std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '-' ? c : '_';
  if (made.empty() || std::isalnum(static_cast<unsigned char>(made.front())) == 0) made.insert(0, "n");
  return made;
}

Tensor int32s(const Shape& shape, const std::vector<int64_t>& values) {
  Tensor tensor = make_tensor(DataType::i32, shape);
  std::transform(values.begin(), values.end(), writable<int32_t>(tensor).begin(), [](int64_t v) { return static_cast<int32_t>(v); });
  return tensor;
}

}  // namespace

TfMaker::TfMaker(TfScope& scope, const char* type) : description_(tf().new_operation(scope.graph(), type, scope.next_name(type).c_str())) {}

TfMaker& TfMaker::in(TfOutput value) {
  tf().add_input(description_, value);
  return *this;
}
TfMaker& TfMaker::in(const std::vector<TfOutput>& list) {
  tf().add_input_list(description_, list.data(), static_cast<int>(list.size()));
  return *this;
}
TfMaker& TfMaker::after(TfOutput value) {
  tf().add_control_input(description_, value.operation);
  return *this;
}
TfMaker& TfMaker::integer(const char* name, int64_t value) {
  tf().set_attr_int(description_, name, value);
  return *this;
}
TfMaker& TfMaker::integers(const char* name, const std::vector<int64_t>& values) {
  tf().set_attr_int_list(description_, name, values.data(), static_cast<int>(values.size()));
  return *this;
}
TfMaker& TfMaker::number(const char* name, double value) {
  tf().set_attr_float(description_, name, static_cast<float>(value));
  return *this;
}
TfMaker& TfMaker::flag(const char* name, bool value) {
  tf().set_attr_bool(description_, name, value ? 1 : 0);
  return *this;
}
TfMaker& TfMaker::text(const char* name, std::string_view value) {
  tf().set_attr_string(description_, name, value.data(), value.size());
  return *this;
}
TfMaker& TfMaker::type(const char* name, TfType value) {
  tf().set_attr_type(description_, name, value);
  return *this;
}
TfMaker& TfMaker::shape(const char* name, const Shape& value) {
  tf().set_attr_shape(description_, name, value.data(), static_cast<int>(value.size()));
  return *this;
}
TfMaker& TfMaker::tensor(const char* name, const Tensor& value) {
  const TfTensor tensor = tf_shared(value);
  TfStatus status;
  tf().set_attr_tensor(description_, name, tensor.get(), status.get());
  status.check();
  return *this;
}
TfOutput TfMaker::out(int index) {
  if (made_ == nullptr) {
    TfStatus status;
    made_ = tf().finish_operation(description_, status.get());
    status.check();
  }
  return {made_, index};
}

void TfScope::enter(const std::string& prefix, const std::string& node) {
  std::string place = prefix + "/" + usable_name(node);
  for (int i = 1; nodes_.contains(place) && nodes_[place] != node; ++i) place = fmt::format("{}/{}_{}", prefix, usable_name(node), i);
  nodes_[place] = node;
  place_ = place;
}

std::string TfScope::node_of(std::string_view operation) const {
  for (size_t end = operation.size(); end != std::string_view::npos && end > 0; end = operation.rfind('/', end - 1)) {
    const auto found = nodes_.find(std::string(operation.substr(0, end)));
    if (found != nodes_.end()) return found->second;
  }
  return {};
}

std::string TfScope::first_node_with(const std::string& type) const {
  const auto found = first_.find(type);
  return found == first_.end() ? std::string() : node_of(found->second);
}

std::string TfScope::next_name(const char* type) {
  const std::string name = place_ + "/" + type;
  first_.try_emplace(type, place_);
  const int uses = used_[name]++;
  return uses == 0 ? name : fmt::format("{}_{}", name, uses);
}

TfOutput TfScope::constant(const Tensor& tensor) { return make("Const").tensor("value", tensor).type("dtype", tf_type(tensor.type)).out(); }

TfOutput TfScope::ints(const std::vector<int64_t>& values) {
  const Shape shape{static_cast<int64_t>(values.size())};
  if (std::all_of(values.begin(), values.end(), [](int64_t v) { return v == static_cast<int32_t>(v); }))
    return constant(int32s(shape, values));
  Tensor tensor = make_tensor(DataType::i64, shape);
  std::copy(values.begin(), values.end(), writable<int64_t>(tensor).begin());
  return constant(tensor);
}

TfOutput TfScope::index(int64_t value) { return constant(int32s({}, {value})); }

TfOutput TfScope::number(TfType type, double value) {
  Tensor tensor = make_tensor(type_of_tf(type), {});
  with_type(tensor.type, [&]<typename T>(T) { writable<T>(tensor)[0] = convert<T>(value); });
  return constant(tensor);
}

TfOutput TfScope::reshape(TfOutput x, const Shape& shape) { return binary("Reshape", x, ints(shape)); }

TfOutput TfScope::transpose(TfOutput x, const std::vector<int64_t>& order) {
  if (std::is_sorted(order.begin(), order.end())) return x;
  return binary("Transpose", x, ints(order));
}

TfOutput TfScope::cast(TfOutput x, TfType type) {
  if (type_of(x) == type) return x;
  return make("Cast").in(x).type("DstT", type).out();
}

TfOutput TfScope::pad(TfOutput x, const std::vector<int64_t>& begins, const std::vector<int64_t>& ends, double value) {
  const auto none = [](const std::vector<int64_t>& pads) {
    return std::all_of(pads.begin(), pads.end(), [](int64_t p) { return p == 0; });
  };
  if (none(begins) && none(ends)) return x;
  std::vector<int64_t> both;
  for (size_t i = 0; i < begins.size(); ++i) both.insert(both.end(), {begins[i], ends[i]});
  const TfOutput pads = constant(int32s({static_cast<int64_t>(begins.size()), 2}, both));
  return make("PadV2").in(x).in(pads).in(number(type_of(x), value)).out();
}

TfOutput TfScope::slice(TfOutput x, const std::vector<int64_t>& begins, const std::vector<int64_t>& sizes) {
  return make("Slice").in(x).in(ints(begins)).in(ints(sizes)).out();
}

TfOutput TfScope::gather(TfOutput x, const std::vector<int64_t>& positions, int64_t axis) {
  return make("GatherV2").in(x).in(ints(positions)).in(index(axis)).out();
}

TfOutput TfScope::reduce(const char* type, TfOutput x, const std::vector<int64_t>& axes, bool keep) {
  return make(type).in(x).in(ints(axes)).flag("keep_dims", keep).out();
}

TfOutput TfScope::concat(const std::vector<TfOutput>& parts, int64_t axis) {
  if (parts.size() == 1) return parts.front();
  return make("ConcatV2").in(parts).in(index(axis)).out();
}

Tensor permuted(const Tensor& tensor, const std::vector<int64_t>& order) {
  Shape shape;
  std::vector<int64_t> steps(order.size(), 1), from(order.size(), 1);
  for (size_t i = order.size(); i-- > 1;) from[i - 1] = from[i] * tensor.shape[i];
  for (size_t i = 0; i < order.size(); ++i) {
    shape.push_back(tensor.shape[static_cast<size_t>(order[i])]);
    steps[i] = from[static_cast<size_t>(order[i])];
  }
  Tensor made = make_tensor(tensor.type, shape);
  const size_t size = byte_size(tensor.type);
  std::byte* to = writable<std::byte>(made).data();
  std::vector<int64_t> at(order.size(), 0);
  int64_t offset = 0;
  for (int64_t i = 0; i < element_count(shape); ++i) {
    std::memcpy(to + static_cast<size_t>(i) * size, tensor.data.get() + static_cast<size_t>(offset) * size, size);
    for (size_t d = order.size(); d-- > 0;) {
      offset += steps[d];
      if (++at[d] < shape[d]) break;
      offset -= steps[d] * shape[d];
      at[d] = 0;
    }
  }
  return made;
}

}  // namespace deepgap
