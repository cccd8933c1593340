// Operators of pictures besides convolutions and pooling, and Det.
#include "model/checked.h"
#include "model/shape_rules.h"

#include <fmt/format.h>

namespace deepgap {
namespace {

// Sizes that stand in an input, behind `first`; those that are not known get symbols.
Dims with_sizes(ShapeContext& context, Dims first, size_t input) {
  const auto sizes = context.carried(input);
  const auto& dims = context.dims(input);
  if (sizes) {
    first.insert(first.end(), sizes->begin(), sizes->end());
    return first;
  }
  if (!dims || dims->size() != 1 || !(*dims)[0].known() || (*dims)[0].size > 64) return {};
  for (int64_t i = 0; i < (*dims)[0].size; ++i) first.push_back(context.unknown(0, first.size()));
  return first;
}

void col2im(ShapeContext& context) {
  const auto& x = context.dims(0);
  context.set(0, context.type(0), std::nullopt);
  if (!x) return;
  if (x->size() != 3) context.fail(fmt::format("its input has shape {}", to_string(*x)));
  Dim channels = context.unknown(0, 1);
  if (const auto block = context.known_integers(2)) {
    int64_t taps = 1;
    for (const int64_t size : *block) {
      const auto product = checked_multiply(taps, size);
      if (size < 1 || !product) context.fail(fmt::format("a block size is {}", size));
      taps = *product;
    }
    const auto divided = divide((*x)[1], taps);
    if (!divided) context.fail(fmt::format("{} values are not blocks of {}", to_string({(*x)[1]}), taps));
    channels = *divided;
  }
  Dims out = with_sizes(context, {(*x)[0], channels}, 1);
  if (!out.empty()) context.set(0, context.type(0), std::move(out));
}

void max_unpool(ShapeContext& context) {
  const auto& x = context.dims(0);
  context.set(0, context.type(0), std::nullopt);
  if (!x) return;
  const auto kernel = context.ints_of("kernel_shape", {});
  const auto strides = context.ints_of("strides", std::vector<int64_t>(kernel.size(), 1));
  const auto pads = context.ints_of("pads", std::vector<int64_t>(2 * kernel.size(), 0));
  if (x->size() != kernel.size() + 2 || strides.size() != kernel.size() || pads.size() != 2 * kernel.size())
    context.fail(fmt::format("its input has shape {}, its windows {} dimensions", to_string(*x), kernel.size()));
  if (context.has(2)) {
    Dims out = with_sizes(context, {}, 2);
    if (!out.empty()) context.set(0, context.type(0), std::move(out));
    return;
  }
  Dims out{(*x)[0], (*x)[1]};
  for (size_t i = 0; i < kernel.size(); ++i) {
    const Dim& in = (*x)[i + 2];
    const auto reach = in.known() ? checked_multiply(in.size - 1, strides[i]) : std::nullopt;
    constexpr int64_t limit = int64_t{1} << 31;
    if (kernel[i] < 1 || kernel[i] > limit || strides[i] < 1 || pads[i] < 0 || pads[i] > limit || pads[kernel.size() + i] < 0 ||
        pads[kernel.size() + i] > limit || (reach && *reach > limit))
      context.fail("its windows are out of range");
    out.push_back(reach ? fixed_dim(*reach + kernel[i] - pads[i] - pads[kernel.size() + i]) : context.unknown(0, i + 2));
  }
  context.set(0, context.type(0), std::move(out));
}

void center_crop_pad(ShapeContext& context) {
  std::optional<Dims> out = context.dims(0);
  context.set(0, context.type(0), std::nullopt);
  if (!out) return;
  std::vector<int64_t> every(out->size());
  for (size_t i = 0; i < every.size(); ++i) every[i] = static_cast<int64_t>(i);
  const auto axes = context.ints_of("axes", every);
  const auto sizes = context.carried(1);
  if (sizes && sizes->size() != axes.size()) context.fail(fmt::format("{} sizes for {} axes", sizes->size(), axes.size()));
  for (size_t i = 0; i < axes.size(); ++i) {
    const size_t axis = context.axis(axes[i], out->size());
    (*out)[axis] = sizes ? (*sizes)[i] : context.unknown(0, axis);
  }
  context.set(0, context.type(0), std::move(out));
}

void det(ShapeContext& context) {
  std::optional<Dims> out = context.dims(0);
  if (out) {
    if (out->size() < 2) context.fail(fmt::format("its input has shape {}", to_string(*out)));
    out->resize(out->size() - 2);
  }
  context.set(0, context.type(0), std::move(out));
}

Dim sized(ShapeContext& context, const char* attribute) {
  const int64_t size = context.int_of(attribute, 1);
  if (size < 1) context.fail(fmt::format("{} is {}", attribute, size));
  return fixed_dim(size);
}

void roi_align(ShapeContext& context) {
  const auto &x = context.dims(0), &boxes = context.dims(1);
  std::optional<Dims> out;
  if (x && boxes) {
    if (x->size() != 4 || boxes->size() != 2)
      context.fail(fmt::format("input {} and regions {} do not go together", to_string(*x), to_string(*boxes)));
    out = Dims{(*boxes)[0], (*x)[1], sized(context, "output_height"), sized(context, "output_width")};
  }
  context.set(0, context.type(0), std::move(out));
}

void deform_conv(ShapeContext& context) {
  const auto &w = context.dims(1), &offset = context.dims(2);
  std::optional<Dims> out;
  if (w && offset) {
    if (w->size() < 3 || offset->size() != w->size())
      context.fail(fmt::format("weight {} and offsets {} do not go together", to_string(*w), to_string(*offset)));
    out = *offset;
    (*out)[1] = (*w)[0];
  }
  context.set(0, context.type(0), std::move(out));
}

void affine_grid(ShapeContext& context) {
  const auto sizes = context.carried(1);
  std::optional<Dims> out;
  if (sizes) {
    if (sizes->size() != 4 && sizes->size() != 5) context.fail(fmt::format("size has {} entries, not 4 or 5", sizes->size()));
    out = Dims{(*sizes)[0]};
    out->insert(out->end(), sizes->begin() + 2, sizes->end());
    out->push_back(fixed_dim(static_cast<int64_t>(sizes->size()) - 2));
  }
  context.set(0, context.type(0), std::move(out));
}

const bool registered = add_shape_rules({{"AffineGrid", affine_grid},
                                         {"CenterCropPad", center_crop_pad},
                                         {"Col2Im", col2im},
                                         {"DeformConv", deform_conv},
                                         {"Det", det},
                                         {"MaxUnpool", max_unpool},
                                         {"RoiAlign", roi_align}});

}  // namespace
}  // namespace deepgap
