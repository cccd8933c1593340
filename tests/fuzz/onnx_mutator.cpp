#include "onnx_mutator.h"

#include "model/eval/evaluator.h"
#include "wire_tree.h"

#include <array>
#include <cstring>
#include <random>
#include <vector>

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace deepgap::fuzz {
namespace {

using Fields = std::vector<WireField>;

// Attributes by the names that operators ask for.
constexpr std::array attribute_names{"axis",
                                     "axes",
                                     "alpha",
                                     "beta",
                                     "auto_pad",
                                     "pads",
                                     "strides",
                                     "dilations",
                                     "kernel_shape",
                                     "group",
                                     "mode",
                                     "perm",
                                     "to",
                                     "epsilon",
                                     "keepdims",
                                     "ceil_mode",
                                     "value",
                                     "value_int",
                                     "value_ints",
                                     "largest",
                                     "sorted",
                                     "start",
                                     "end",
                                     "split",
                                     "num_outputs",
                                     "blocksize",
                                     "hidden_size",
                                     "direction",
                                     "layout",
                                     "exclusive",
                                     "reverse",
                                     "equation",
                                     "transA",
                                     "transB",
                                     "min",
                                     "max",
                                     "batch_dims",
                                     "reduction",
                                     "output_shape",
                                     "output_padding",
                                     "count_include_pad",
                                     "storage_order",
                                     "align_corners",
                                     "allowzero",
                                     "select_last_index",
                                     "coordinate_transformation_mode",
                                     "nearest_mode",
                                     "antialias",
                                     "cubic_coeff_a",
                                     "extrapolation_value",
                                     "sampling_ratio",
                                     "output_height",
                                     "output_width",
                                     "spatial_scale",
                                     "body",
                                     "then_branch",
                                     "else_branch",
                                     "noop_with_empty_axes",
                                     "stash_type",
                                     "block_size",
                                     "saturate",
                                     "upper",
                                     "k",
                                     "scales"};
constexpr std::array texts{"",
                           "SAME_UPPER",
                           "SAME_LOWER",
                           "VALID",
                           "NOTSET",
                           "constant",
                           "reflect",
                           "edge",
                           "wrap",
                           "linear",
                           "nearest",
                           "cubic",
                           "bilinear",
                           "add",
                           "mul",
                           "min",
                           "max",
                           "none",
                           "reverse",
                           "bidirectional",
                           "forward",
                           "DCR",
                           "CRD",
                           "floor",
                           "ceil",
                           "round_prefer_ceil",
                           "asymmetric",
                           "align_corners",
                           "half_pixel",
                           "pytorch_half_pixel",
                           "tf_crop_and_resize",
                           "border",
                           "zeros",
                           "ij,jk->ik",
                           "...i->i",
                           "tanh"};
constexpr std::array<int64_t, 18> numbers{0,  1,   -1,  2,     -2,        3,         4,         7,         8,
                                          16, 255, 256, 65536, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN, INT64_MAX / 2};

class Changes {
 public:
  explicit Changes(uint64_t seed) : random_(seed) {}

  size_t below(size_t limit) { return static_cast<size_t>(random_() % limit); }
  template <typename List>
  auto one_of(const List& list) {
    return list[below(list.size())];
  }

  // Every message of the tree, as the list of its fields.
  static void collect(Fields& fields, Message of, std::vector<std::pair<Message, Fields*>>& into) {
    into.emplace_back(of, &fields);
    for (WireField& field : fields) {
      if (field.message) collect(field.fields, *field.message, into);
    }
  }

  void change(Fields& model) {
    std::vector<std::pair<Message, Fields*>> messages;
    collect(model, Message::model, messages);
    const auto [message, fields] = one_of(messages);
    if (fields->empty()) return;
    if (message == Message::node && below(3) == 0) return change_arity(*fields, messages);
    if (below(5) == 0) return arrange(*fields);
    change_field(message, fields->at(below(fields->size())), messages);
  }

  // A field of `from` into a message of the same kind in `to`.
  void splice(Fields& to, Fields& from) {
    std::vector<std::pair<Message, Fields*>> targets, sources;
    collect(to, Message::model, targets);
    collect(from, Message::model, sources);
    for (int tries = 0; tries < 20; ++tries) {
      const auto [kind, source] = one_of(sources);
      const auto [target_kind, target] = one_of(targets);
      if (kind != target_kind || source->empty()) continue;
      const WireField taken = source->at(below(source->size()));
      for (WireField& field : *target) {
        if (field.number == taken.number && below(2) == 0) {
          field = taken;
          return;
        }
      }
      target->insert(target->begin() + static_cast<std::ptrdiff_t>(below(target->size() + 1)), taken);
      return;
    }
  }

 private:
  // A field doubled, left out or moved.
  void arrange(Fields& fields) {
    const size_t at = below(fields.size()), to = below(fields.size());
    switch (below(3)) {
      case 0:
        fields.insert(fields.begin() + static_cast<std::ptrdiff_t>(to), WireField(fields[at]));
        return;
      case 1:
        fields.erase(fields.begin() + static_cast<std::ptrdiff_t>(at));
        return;
      default:
        std::swap(fields[at], fields[to]);
    }
  }

  // A node with an input or output more, with one left out by "", or cut off behind one.
  void change_arity(Fields& node, const std::vector<std::pair<Message, Fields*>>& messages) {
    const auto number = static_cast<uint32_t>(1 + below(2));  // inputs or outputs
    std::vector<size_t> places;
    for (size_t i = 0; i < node.size(); ++i)
      if (node[i].number == number && node[i].type == 2) places.push_back(i);
    const size_t choice = below(3);
    if (choice == 0 || places.empty()) {
      const std::string name = number == 1 ? a_name(messages) : "more" + std::to_string(below(1000));
      node.insert(node.begin() + static_cast<std::ptrdiff_t>(places.empty() ? 0 : places.back() + 1),
                  {.number = number, .type = 2, .bytes = name});
    } else if (choice == 1) {
      node[one_of(places)].bytes.clear();
    } else {
      const size_t first = one_of(places);
      for (size_t i = places.size(); i-- > 0 && places[i] >= first;) node.erase(node.begin() + static_cast<std::ptrdiff_t>(places[i]));
    }
  }

  void change_field(Message message, WireField& field, const std::vector<std::pair<Message, Fields*>>& messages) {
    if (field.type == 0) {
      field.integer =
          static_cast<uint64_t>(other_integer(static_cast<int64_t>(field.integer), message == Message::shape || message == Message::dim));
    } else if (field.type == 5 || field.type == 1) {
      change_bytes(field.bytes, false);
    } else if (message == Message::node && field.number <= 2) {
      field.bytes = a_name(messages);
    } else if (message == Message::node && field.number == 4) {
      static const std::vector<std::string> operators = evaluated_operators();
      field.bytes = one_of(operators);
    } else if (message == Message::attribute && field.number == 1) {
      field.bytes = one_of(attribute_names);
    } else if (message == Message::attribute && field.number == 4 && below(3) > 0) {
      field.bytes = one_of(texts);
    } else if (!field.message) {
      change_bytes(field.bytes, message != Message::tensor || below(4) == 0);
    } else if (below(4) == 0) {
      arrange_in(field);
    }
  }

  void arrange_in(WireField& field) {
    if (!field.fields.empty()) arrange(field.fields);
  }

  int64_t other_integer(int64_t value, bool is_size) {
    switch (below(is_size ? 3 : 5)) {
      case 0:
        return static_cast<int64_t>(below(6));
      case 1:
        return static_cast<int64_t>(static_cast<uint64_t>(value) + below(5) - 2);  // wraps around
      case 2:
        return static_cast<int64_t>(below(20));
      case 3:
        return -static_cast<int64_t>(below(6));
      default:
        return one_of(numbers);
    }
  }

  // The name of a value that something reads or makes.
  std::string a_name(const std::vector<std::pair<Message, Fields*>>& messages) {
    for (int tries = 0; tries < 20; ++tries) {
      const auto [message, fields] = one_of(messages);
      if (message != Message::node || fields->empty()) continue;
      const WireField& field = fields->at(below(fields->size()));
      if (field.number <= 2) return field.bytes;
    }
    return "";  // left out
  }

  // Whole numbers exchanged, or any bytes; the length stays but with `resize`.
  void change_bytes(std::string& bytes, bool resize) {
    if (bytes.size() >= 8 && below(2) == 0) {
      const int64_t number = one_of(numbers);
      std::memcpy(bytes.data() + below(bytes.size() / 8) * 8, &number, 8);
      return;
    }
    if (bytes.size() >= 4 && below(2) == 0) {
      constexpr std::array<float, 8> floats{0.0F, -0.0F, 1.0F, -1.0F, 1e30F, -1e30F, __builtin_inff(), __builtin_nanf("")};
      const float number = one_of(floats);
      std::memcpy(bytes.data() + below(bytes.size() / 4) * 4, &number, 4);
      return;
    }
    const size_t size = bytes.size();
    std::vector<uint8_t> room(size + 16);
    std::memcpy(room.data(), bytes.data(), size);
    const size_t now = LLVMFuzzerMutate(room.data(), size, resize ? room.size() : std::max<size_t>(size, 1));
    bytes.assign(reinterpret_cast<const char*>(room.data()), now);
    if (!resize) bytes.resize(size, '\0');
  }

  std::mt19937_64 random_;
};

}  // namespace

std::optional<std::string> mutate_onnx(std::string_view file, uint64_t seed) {
  auto model = read_fields(file, Message::model);
  if (!model) return std::nullopt;
  Changes changes(seed);
  for (size_t i = 1 + changes.below(3); i > 0; --i) changes.change(*model);
  return write_fields(*model);
}

std::optional<std::string> splice_onnx(std::string_view file, std::string_view other, uint64_t seed) {
  auto model = read_fields(file, Message::model), from = read_fields(other, Message::model);
  if (!model || !from) return std::nullopt;
  Changes changes(seed);
  for (size_t i = 1 + changes.below(2); i > 0; --i) changes.splice(*model, *from);
  return write_fields(*model);
}

}  // namespace deepgap::fuzz
