#include "report/forest.h"

#include "report/occurrences.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace deepgap {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

ForestRow row(const std::string& label) { return {label, 1.2, 1.1, 1.3, false, {}}; }

TEST(Forest, labels_keep_what_differs) {
  const std::string begin = "native \u00b7 1 thread \u00b7 end_to_end=on \u00b7 decode_threads=";
  const std::string svg = forest_svg({"", "times", 0.02, {row(begin + "1"), row(begin + "16")}});
  EXPECT_THAT(svg, HasSubstr("decode_threads=1</tspan>"));
  EXPECT_THAT(svg, HasSubstr("decode_threads=16</tspan>"));
  EXPECT_THAT(svg, HasSubstr("all rows: native \u00b7 1 thread \u00b7 end_to_end=on"));
  EXPECT_EQ(occurrences(svg, "\u2026"), 0u) << "nothing is cut";
}

TEST(Forest, a_label_of_one_row_is_whole_and_wraps) {
  const std::string svg = forest_svg({"", "times", 0, {row("libtorch_cuda \u00b7 4x H100, 4 processes \u00b7 int8 \u00b7 batch 256")}});
  EXPECT_GE(occurrences(svg, "<tspan"), 2u);
  EXPECT_THAT(svg, HasSubstr("batch 256</tspan>"));
  EXPECT_THAT(svg, Not(HasSubstr("all rows")));
}

TEST(Forest, a_long_title_has_several_lines) {
  const std::string title = "times the throughput of native \u00b7 1 thread \u00b7 decode_threads=1 \u00b7 end_to_end=overlapped";
  const std::string svg = forest_svg({"", title, 0, {row("native")}});
  EXPECT_EQ(occurrences(svg, title), 0u);
  EXPECT_THAT(svg, HasSubstr(">times the throughput of native"));
  EXPECT_THAT(svg, HasSubstr("end_to_end=overlapped</text>"));
}

}  // namespace
}  // namespace deepgap
