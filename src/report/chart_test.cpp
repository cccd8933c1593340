#include "report/chart.h"

#include "report/axis.h"
#include "report/occurrences.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <regex>
#include <string>

namespace deepgap {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Chart, has_marks_bars_and_ticks) {
  Chart chart{"a chart", {"Batch", Scale::log2, {1, 2, 4}}, {"Items", Scale::linear, {}}, {}};
  chart.lines.push_back({"one", 0, false, {{1, 10, {}, {}, 9, 11, false, "tip <1>", ""}, {2, 18, {}, {}, 17, 19, true, "", ""}}});
  const std::string svg = chart_svg(chart);
  EXPECT_EQ(occurrences(svg, "class=\"mark\""), 1u);
  EXPECT_EQ(occurrences(svg, "class=\"mark hollow\""), 1u);
  EXPECT_EQ(occurrences(svg, "class=\"bar\""), 2u);
  EXPECT_THAT(svg, HasSubstr("tip &lt;1&gt;"));
  EXPECT_THAT(svg, HasSubstr(">2</text>"));
}

TEST(Chart, what_cannot_be_drawn_is_left_out) {
  Chart chart{"", {"x", Scale::log2, {}}, {"y", Scale::log10, {}}, {}};
  EXPECT_EQ(chart_svg(chart), "");
  chart.lines.push_back({"", 0, false, {{0, 1, {}, {}, {}, {}, false, "", ""}, {1, NAN, {}, {}, {}, {}, false, "", ""}}});
  EXPECT_EQ(chart_svg(chart), "");
  chart.lines[0].points.push_back({1, 5, {}, {}, -3, 1e9, false, "", ""});
  EXPECT_THAT(chart_svg(chart), Not(HasSubstr("nan")));
}

TEST(Chart, values_below_zero_have_bars_too) {
  Chart chart{"", {"x", Scale::linear, {}}, {"y", Scale::linear, {}}, {}};
  chart.lines.push_back({"", 0, false, {{1, -10, {}, {}, -11, -9, false, "", ""}, {2, -20, {}, {}, -100, 100, false, "", ""}}});
  const std::string svg = chart_svg(chart);
  EXPECT_EQ(occurrences(svg, "class=\"bar\""), 1u);
  EXPECT_EQ(occurrences(svg, "class=\"bar cut\""), 1u) << "the view follows the values and half their size beyond";
}

TEST(Chart, long_numbers_beside_the_axis_have_room) {
  Chart chart{"", {"x", Scale::linear, {}}, {"y", Scale::linear, {}}, {}};
  const auto svg_up_to = [&](double most) {
    chart.lines = {{"", 0, false, {{1, most, {}, {}, {}, {}, false, "", ""}}}};
    return chart_svg(chart);
  };
  EXPECT_THAT(svg_up_to(9000), HasSubstr("M50 "));
  EXPECT_THAT(svg_up_to(900000), Not(HasSubstr("M50 ")));
}

// Rates of 60,000 to 85,000 on a logarithmic axis: their numbers are wide and stand closer to the right.
TEST(Chart, numbers_below_the_axis_do_not_overlap) {
  Chart chart{"", {"x", Scale::log10, {}}, {"y", Scale::linear, {}}, {}};
  for (const double most : {66'000.0, 85'000.0, 260'000.0, 900'000.0, 1e9}) {
    chart.lines = {{"", 0, false, {{60'000, 1}, {most, 2}}}};
    const std::string svg = chart_svg(chart);
    const std::regex number("v4\"/><text x=\"([0-9.]+)\" y=\"[0-9.]+\">([^<]+)");
    double end = -100;
    size_t count = 0;
    for (std::sregex_iterator found(svg.begin(), svg.end(), number), none; found != none; ++found, ++count) {
      const double at = std::stod((*found)[1]), half = 3.5 * static_cast<double>((*found)[2].length());
      EXPECT_GT(at - half, end) << most;
      end = at + half;
    }
    EXPECT_GE(count, 2u) << most;
  }
}

// A neighbour right above the point that is named: the tag moves to where it covers no marker, and is drawn after all of them.
TEST(Chart, a_tag_covers_no_marker) {
  Chart chart{"", {"x", Scale::linear, {0, 10}}, {"y", Scale::linear, {}}, {}};
  chart.lines.push_back({"", 0, false, {{0, 0}, {5, 50, {}, {}, {}, {}, false, "", "peak 65.5"}, {10, 100}}});
  chart.lines.push_back({"", 1, false, {{4.8, 55}, {5, 55}, {5.2, 55}}});
  const std::string svg = chart_svg(chart);
  const auto number_at = [&](const std::string& text, size_t from) { return std::stod(svg.substr(svg.find(text, from) + text.size())); };
  const size_t tag = svg.find("class=\"tag\"");
  ASSERT_NE(tag, std::string::npos);
  EXPECT_EQ(svg.find("class=\"mark\"", tag), std::string::npos) << "drawn last";
  const double x = number_at(" x=\"", tag), y = number_at(" y=\"", tag);
  size_t marks = 0;
  for (size_t at = svg.find("translate("); at != std::string::npos; at = svg.find("translate(", at + 1)) {
    const double mark_x = number_at("translate(", at), mark_y = number_at(" ", at);
    EXPECT_FALSE(std::abs(mark_x - x) < 30 && std::abs(mark_y - (y - 4)) < 8) << mark_x << " " << mark_y;
    ++marks;
  }
  EXPECT_EQ(marks, 6u);
}

TEST(Axis, ticks_are_round_and_apart) {
  const DrawnAxis linear(Scale::linear, 10, 142, 250, 30, 30);
  ASSERT_GE(linear.ticks().size(), 3u);
  EXPECT_EQ(linear.ticks()[0].text, "0");
  EXPECT_EQ(linear.ticks()[1].text, "50");
  EXPECT_DOUBLE_EQ(linear.at(0), 250);
  const DrawnAxis batches(Scale::log2, 1, 512, 50, 390, 26, {1, 2, 4, 8, 16, 32, 64, 128, 256, 384, 512});
  for (size_t i = 1; i < batches.ticks().size(); ++i) EXPECT_GE(batches.ticks()[i].at - batches.ticks()[i - 1].at, 25.9);
  const DrawnAxis decades(Scale::log10, 0.5, 80, 0, 300, 30);
  for (const Tick& tick : decades.ticks()) EXPECT_NEAR(decades.at(tick.value), tick.at, 1e-9);
}

}  // namespace
}  // namespace deepgap
