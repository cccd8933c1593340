#include "engine/gpu/form.h"

#include <gtest/gtest.h>

namespace deepgap::gpu {
namespace {

TEST(Form, ChannelsLastPixelsAreWholeVectors) {
  const Shape shape{2, 3, 5, 7};
  const Form halves = channels_last_form(Element::f16, shape), bytes = channels_last_form(Element::i8, shape);
  EXPECT_EQ(halves.pitch, 8);
  EXPECT_EQ(bytes.pitch, 16);
  EXPECT_EQ(strides_of(shape, halves), (std::vector<int64_t>{280, 1, 56, 8}));
  EXPECT_EQ(bytes_of(shape, halves), 2U * 5 * 7 * 8 * 2);
  EXPECT_TRUE(is_padded(shape, halves));
}

TEST(Form, PlainRowsMayBePadded) {
  const Shape shape{4, 10};
  EXPECT_EQ(strides_of(shape, plain_form(Element::f32, shape)), (std::vector<int64_t>{10, 1}));
  EXPECT_EQ(strides_of(shape, rows_form(Element::f32, shape)), (std::vector<int64_t>{12, 1}));
  EXPECT_EQ(elements_of({}, plain_form(Element::f32, {})), 1);
  EXPECT_EQ(elements_of({3, 0}, plain_form(Element::f32, {3, 0})), 0);
}

// One pixel: channels last and plain are the same bytes, unless one has padding.
TEST(Form, TheSameBytesInTwoForms) {
  EXPECT_TRUE(same_places({2, 64, 1, 1}, channels_last_form(Element::f16, {2, 64, 1, 1}), plain_form(Element::f16, {2, 64, 1, 1})));
  EXPECT_FALSE(same_places({2, 63, 1, 1}, channels_last_form(Element::f16, {2, 63, 1, 1}), plain_form(Element::f16, {2, 63, 1, 1})));
  EXPECT_FALSE(same_places({2, 64, 2, 1}, channels_last_form(Element::f16, {2, 64, 2, 1}), plain_form(Element::f16, {2, 64, 2, 1})));
  EXPECT_FALSE(same_places({2, 64}, plain_form(Element::f16, {2, 64}), plain_form(Element::f32, {2, 64})));
}

}  // namespace
}  // namespace deepgap::gpu
