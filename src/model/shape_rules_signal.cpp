// Transforms of signals, their windows, and operators whose size their input's content decides.
#include "model/onnx_types.h"
#include "model/shape_rules.h"

#include <fmt/format.h>

#include <algorithm>

namespace deepgap {
namespace {

constexpr int64_t longest = int64_t{1} << 24;

// One number that is known; nullopt: left out or not known.
std::optional<int64_t> number(ShapeContext& context, size_t input, int64_t least) {
  if (!context.has(input)) return std::nullopt;
  const auto values = context.known_integers(input);
  if (!values || values->size() != 1) return std::nullopt;
  if (values->front() < least || values->front() > longest) context.fail(fmt::format("input {} is {}", input, values->front()));
  return values->front();
}

void dft(ShapeContext& context) {
  std::optional<Dims> out = context.dims(0);
  context.set(0, context.type(0), std::nullopt);
  if (!out) return;
  if (out->size() < 2) context.fail(fmt::format("its input has shape {}", to_string(*out)));
  int64_t axis = context.graph.opset < 20 ? context.int_of("axis", 1) : -2;
  if (context.graph.opset >= 20 && context.has(2)) {
    const auto given = context.known_integers(2);
    if (!given || given->size() != 1) return;
    axis = given->front();
  }
  const size_t at = context.axis(axis, out->size());
  if (at + 1 == out->size()) context.fail("its axis is that of real and imaginary parts");
  const bool inverse = context.int_of("inverse", 0) != 0, onesided = context.int_of("onesided", 0) != 0;
  std::optional<int64_t> length = number(context, 1, 1);
  if (!context.has(1) && (*out)[at].known()) length = inverse && onesided ? 2 * ((*out)[at].size - 1) : (*out)[at].size;
  if (!context.has(1) && !onesided && !(*out)[at].known()) {
    // The axis stays as long as it is.
  } else if (length) {
    (*out)[at] = fixed_dim(onesided && !inverse ? *length / 2 + 1 : *length);
  } else {
    (*out)[at] = context.unknown(0, at);
  }
  out->back() = fixed_dim(inverse && onesided ? 1 : 2);
  context.set(0, context.type(0), std::move(out));
}

void stft(ShapeContext& context) {
  const auto& x = context.dims(0);
  context.set(0, context.type(0), std::nullopt);
  if (!x) return;
  if (x->size() != 3) context.fail(fmt::format("its signal has shape {}", to_string(*x)));
  std::optional<int64_t> length = number(context, 3, 1);
  if (!context.has(3) && context.has(2) && context.dims(2) && context.dims(2)->size() == 1 && (*context.dims(2))[0].known())
    length = (*context.dims(2))[0].size;
  const auto step = number(context, 1, 1);
  Dims out{(*x)[0], context.unknown(0, 1), context.unknown(0, 2), fixed_dim(2)};
  if (length && step && (*x)[1].known()) {
    if (*length > (*x)[1].size) context.fail(fmt::format("frames of {} in a signal of {}", *length, (*x)[1].size));
    out[1] = fixed_dim(1 + ((*x)[1].size - *length) / *step);
  }
  if (length) out[2] = fixed_dim(context.int_of("onesided", 1) != 0 ? *length / 2 + 1 : *length);
  context.set(0, context.type(0), std::move(out));
}

DataType asked_type(ShapeContext& context, const char* attribute) {
  const int64_t asked = context.int_of(attribute, 1);
  const auto type = data_type_of(asked);
  if (!type) context.fail(fmt::format("{} {} is not supported", attribute, onnx_type_name(asked)));
  return *type;
}

void window(ShapeContext& context) {
  const auto size = number(context, 0, 0);
  context.set(0, asked_type(context, "output_datatype"), Dims{size ? fixed_dim(*size) : context.unknown(0, 0)});
}

void mel_weight_matrix(ShapeContext& context) {
  const auto bands = number(context, 0, 0), length = number(context, 1, 1);
  context.set(0, asked_type(context, "output_datatype"),
              Dims{length ? fixed_dim(*length / 2 + 1) : context.unknown(0, 0), bands ? fixed_dim(*bands) : context.unknown(0, 1)});
}

// The result has as many elements as the contents decide, along the axis in the attribute or of all elements.
void chosen(ShapeContext& context) {
  std::optional<Dims> out = context.dims(0);
  const bool flat = !context.node.attributes.contains("axis");
  if (flat) {
    out = Dims{context.unknown(0, 0)};
  } else if (out) {
    const size_t axis = context.axis_of("axis", 0, out->size());
    (*out)[axis] = context.unknown(0, axis);
  }
  context.set(0, context.type(0), std::move(out));
}

void unique(ShapeContext& context) {
  chosen(context);
  const auto& x = context.dims(0);
  std::optional<Dim> of_all;
  if (x && context.node.attributes.contains("axis")) of_all = (*x)[context.axis_of("axis", 0, x->size())];
  if (x && !of_all) of_all = product(*x, 0, x->size());
  context.set(1, DataType::i64, Dims{context.unknown(1, 0)});
  context.set(2, DataType::i64, Dims{of_all.value_or(context.unknown(2, 0))});
  context.set(3, DataType::i64, Dims{context.unknown(3, 0)});
}

void tf_idf_vectorizer(ShapeContext& context) {
  const auto& x = context.dims(0);
  int64_t width = 0;
  for (const int64_t column : context.ints_of("ngram_indexes", {})) {
    if (column < 0 || column >= (int64_t{1} << 31)) context.fail(fmt::format("ngram_indexes holds {}", column));
    width = std::max(width, column + 1);
  }
  std::optional<Dims> out;
  if (x && x->size() == 2)
    out = Dims{(*x)[0], fixed_dim(width)};
  else if (x)
    out = Dims{fixed_dim(width)};
  context.set(0, DataType::f32, std::move(out));
}

const bool registered = add_shape_rules({{"BlackmanWindow", window},
                                         {"Compress", chosen},
                                         {"DFT", dft},
                                         {"HammingWindow", window},
                                         {"HannWindow", window},
                                         {"MelWeightMatrix", mel_weight_matrix},
                                         {"STFT", stft},
                                         {"TfIdfVectorizer", tf_idf_vectorizer},
                                         {"Unique", unique}});

}  // namespace
}  // namespace deepgap
