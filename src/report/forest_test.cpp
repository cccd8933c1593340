#include "report/forest.h"

#include "report/occurrences.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>

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

TEST(Forest, a_part_of_a_label_stays_on_one_line) {
  const std::string svg = forest_svg({"", "times", 0, {row("1 thread \u00b7 decode_threads=1 \u00b7 end_to_end=serial \u00b7 batch 1")}});
  EXPECT_THAT(svg, HasSubstr("\u00b7 batch 1</tspan>"));
}

TEST(Forest, a_long_title_has_several_lines) {
  const std::string title = "times the throughput of native \u00b7 1 thread \u00b7 decode_threads=1 \u00b7 end_to_end=overlapped";
  const std::string svg = forest_svg({"", title, 0, {row("native")}});
  EXPECT_EQ(occurrences(svg, title), 0u);
  EXPECT_THAT(svg, HasSubstr(">times the throughput of native"));
  EXPECT_THAT(svg, HasSubstr("end_to_end=overlapped</text>"));
}

// Whatever the range of the ratios, numbers below the axis stand clear of each other, and there are at least two to read it by.
TEST(Forest, numbers_of_the_axis_do_not_overlap) {
  for (const double span : {1.001, 1.3, 3.0, 12.0, 200.0, 1e4, 1e9, 1e40}) {
    for (const bool below : {false, true}) {
      const double far = below ? 1 / span : span;
      const std::string svg = forest_svg({"", "times", 0.02, {{"native", far, std::min(far, 1.0), std::max(far, 1.0), false, {}}}});
      const std::regex number("<path d=\"M([0-9.]+) [0-9.]+v5\"/><text");
      std::vector<double> at;
      for (std::sregex_iterator found(svg.begin(), svg.end(), number), end; found != end; ++found) at.push_back(std::stod((*found)[1]));
      EXPECT_GE(at.size(), 2u) << far;
      EXPECT_LE(at.size(), 12u) << far;
      for (size_t i = 1; i < at.size(); ++i) EXPECT_GE(at[i] - at[i - 1], 35) << far;
    }
  }
}

}  // namespace
}  // namespace deepgap
