// Operators that change the shape and leave the elements where they are, and those that compute with shapes.
#include "model/onnx_types.h"
#include "model/shape_rules.h"

#include <fmt/format.h>

#include <algorithm>

namespace deepgap {
namespace {

void flatten(ShapeContext& context) {
  std::optional<Dims> out;
  if (const auto& x = context.dims(0)) {
    const int64_t given = context.int_of("axis", 1);
    const size_t axis = given == static_cast<int64_t>(x->size()) ? x->size() : context.axis(given, x->size());
    out = Dims{product(*x, 0, axis).value_or(context.unknown(0, 0)), product(*x, axis, x->size()).value_or(context.unknown(0, 1))};
  }
  context.set(0, context.type(0), std::move(out));
}

// total / part, where sizes and symbols allow.
std::optional<Dim> quotient(const Dim& total, const Dim& part) {
  if (part.known()) return divide(total, part.size);
  if (part.symbol != total.symbol || part.size <= 0 || total.size % part.size != 0) return std::nullopt;
  return fixed_dim(total.size / part.size);
}

// The size that -1 stands for; `out` has 1 in its place. Open sizes that stand on both sides cancel out.
Dim inferred_size(ShapeContext& context, const Dims& x, const Dims& out, size_t place) {
  Dims numerator = x, denominator = out;
  for (Dim& dim : denominator) {
    const auto same = std::find(numerator.begin(), numerator.end(), dim);
    if (dim.known() || same == numerator.end()) continue;
    *same = fixed_dim(1);
    dim = fixed_dim(1);
  }
  const auto total = product(numerator, 0, numerator.size());
  const auto rest = product(denominator, 0, denominator.size());
  if (!total || !rest) return context.unknown(0, place);
  if (total->known() && rest->known() && (rest->size == 0 || total->size % rest->size != 0))
    context.fail(fmt::format("{} cannot become {} with one size to be found", to_string(x), to_string(out)));
  return quotient(*total, *rest).value_or(context.unknown(0, place));
}

void check_same_count(ShapeContext& context, const Dims& x, const Dims& out) {
  const auto before = product(x, 0, x.size());
  const auto after = product(out, 0, out.size());
  if (before && after && before->known() && after->known() && *before != *after)
    context.fail(fmt::format("{} cannot become {}", to_string(x), to_string(out)));
}

// The length of an input that is a shape says the rank, where its content is not known.
std::optional<Dims> open_target(ShapeContext& context, size_t input) {
  const auto& shape = context.dims(input);
  if (!shape || shape->size() != 1 || !(*shape)[0].known() || (*shape)[0].size > 64) return std::nullopt;
  Dims open;
  for (int64_t i = 0; i < (*shape)[0].size; ++i) open.push_back(context.unknown(0, static_cast<size_t>(i)));
  return open;
}

// `target` with 0 and -1 replaced; nullopt: a size to be copied is not known.
std::optional<Dims> resolved_target(ShapeContext& context, Dims target) {
  const auto& x = context.dims(0);
  const bool allow_zero = context.int_of("allowzero", 0) != 0;
  std::optional<size_t> inferred;
  for (size_t i = 0; i < target.size(); ++i) {
    Dim& size = target[i];
    if (!size.known()) continue;
    if (size.size == 0 && !allow_zero) {
      if (!x) return std::nullopt;
      if (i >= x->size()) context.fail(fmt::format("size {} is to be copied from {}", i, to_string(*x)));
      size = (*x)[i];
    } else if (size.size == -1) {
      if (inferred) context.fail("two sizes are -1");
      inferred = i;
      size = fixed_dim(1);
    } else if (size.size < 0) {
      context.fail(fmt::format("size {} is {}", i, size.size));
    }
  }
  if (inferred) target[*inferred] = x ? inferred_size(context, *x, target, *inferred) : context.unknown(0, *inferred);
  return target;
}

void reshape(ShapeContext& context) {
  context.set(0, context.type(0), std::nullopt);
  if (auto content = context.carried(0)) context.carry(0, std::move(*content));
  const auto target = context.carried(1);
  auto out = target ? resolved_target(context, *target) : open_target(context, 1);
  if (out && context.dims(0)) check_same_count(context, *context.dims(0), *out);
  context.set(0, context.type(0), std::move(out));
}

void squeeze(ShapeContext& context) {
  const auto& x = context.dims(0);
  const auto axes = axes_of(context);
  context.set(0, context.type(0), std::nullopt);
  if (auto content = context.carried(0)) context.carry(0, std::move(*content));
  if (!x || !axes) return;
  std::vector<bool> removed(x->size());
  for (const int64_t axis : *axes) {
    const size_t at = context.axis(axis, x->size());
    if ((*x)[at].known() && (*x)[at].size != 1) context.fail(fmt::format("size {} of {} is not 1", at, to_string(*x)));
    removed[at] = true;
  }
  Dims out;
  for (size_t i = 0; i < x->size(); ++i) {
    if (axes->empty() && !(*x)[i].known()) return;  // whether it is 1 is not known
    if (!removed[i] && !(axes->empty() && is_one((*x)[i]))) out.push_back((*x)[i]);
  }
  context.set(0, context.type(0), std::move(out));
}

void unsqueeze(ShapeContext& context) {
  const auto& x = context.dims(0);
  const auto axes = axes_of(context);
  context.set(0, context.type(0), std::nullopt);
  if (auto content = context.carried(0)) context.carry(0, std::move(*content));
  if (!x || !axes) return;
  const size_t rank = x->size() + axes->size();
  if (rank > 64) context.fail("the result has more than 64 dimensions");
  std::vector<bool> added(rank);
  for (const int64_t axis : *axes) {
    const size_t at = context.axis(axis, rank);
    if (added[at]) context.fail(fmt::format("axis {} is given twice", axis));
    added[at] = true;
  }
  Dims out;
  auto from = x->begin();
  for (size_t i = 0; i < rank; ++i) out.push_back(added[i] ? fixed_dim(1) : *from++);
  context.set(0, context.type(0), std::move(out));
}

void shape_of(ShapeContext& context) {
  const auto& x = context.dims(0);
  if (!x) return context.set(0, DataType::i64, Dims{context.unknown(0, 0)});
  const auto rank = static_cast<int64_t>(x->size());
  const auto place = [&](const char* name, int64_t fallback) {
    const int64_t given = context.int_of(name, fallback);
    return std::clamp<int64_t>(given < 0 ? given + rank : given, 0, rank);
  };
  const int64_t begin = place("start", 0), end = std::max(begin, place("end", rank));
  context.set(0, DataType::i64, Dims{fixed_dim(end - begin)});
  context.carry(0, Dims(x->begin() + begin, x->begin() + end));
}

void size_of(ShapeContext& context) {
  context.set(0, DataType::i64, Dims{});
  if (!context.dims(0)) return;
  if (const auto count = product(*context.dims(0), 0, context.dims(0)->size())) context.carry(0, {*count});
}

void cast(ShapeContext& context) {
  const int64_t to = context.int_of("to", 0);
  const auto type = data_type_of(to);
  if (!type) context.fail(fmt::format("cast to {} is not supported", onnx_type_name(to)));
  context.set(0, *type, context.dims(0));
  if (*type != DataType::i64 && *type != DataType::i32) return;
  if (auto content = context.carried(0)) context.carry(0, std::move(*content));
}

// The same bytes: contents do not pass.
void bit_cast(ShapeContext& context) {
  const int64_t to = context.int_of("to", 0);
  const auto type = data_type_of(to);
  if (!type) context.fail(fmt::format("cast to {} is not supported", onnx_type_name(to)));
  context.set(0, *type, context.dims(0));
}

void cast_like(ShapeContext& context) { context.set(0, context.type(1), context.dims(0)); }

void constant_of_shape(ShapeContext& context) {
  DataType type = DataType::f32;
  std::optional<int64_t> value;
  if (const auto found = context.node.attributes.find("value"); found != context.node.attributes.end()) {
    const auto* tensor = std::get_if<Tensor>(&found->second);
    if (tensor == nullptr || element_count(tensor->shape) != 1) context.fail("value should be a tensor of one element");
    type = tensor->type;
    if (type == DataType::i64) value = tensor->as<int64_t>()[0];
  }
  const auto shape = context.carried(0);
  if (shape) {
    for (const Dim& dim : *shape) {
      if (dim.size < 0) context.fail(fmt::format("shape {} is negative", to_string(*shape)));
    }
    context.set(0, type, *shape);
    if (value && shape->size() == 1 && (*shape)[0].known() && (*shape)[0].size <= 64)
      context.carry(0, std::vector<Dim>(static_cast<size_t>((*shape)[0].size), fixed_dim(*value)));
    return;
  }
  context.set(0, type, open_target(context, 0));
}

void expand(ShapeContext& context) {
  const auto shape = context.carried(1);
  std::optional<Dims> out;
  if (shape) {
    for (const Dim& dim : *shape) {
      if (dim.size < 0) context.fail(fmt::format("shape {} is negative", to_string(*shape)));
    }
    out = context.broadcast(context.dims(0), *shape, 0);
  } else if (const auto& x = context.dims(0)) {
    out = open_target(context, 1);
    while (out && out->size() < x->size()) out->push_back(context.unknown(0, out->size()));
  }
  context.set(0, context.type(0), std::move(out));
}

const bool registered = add_shape_rules({{"Flatten", flatten},
                                         {"Reshape", reshape},
                                         {"Squeeze", squeeze},
                                         {"Unsqueeze", unsqueeze},
                                         {"Shape", shape_of},
                                         {"Size", size_of},
                                         {"BitCast", bit_cast},
                                         {"Cast", cast},
                                         {"CastLike", cast_like},
                                         {"ConstantOfShape", constant_of_shape},
                                         {"Expand", expand}});

}  // namespace

}  // namespace deepgap
