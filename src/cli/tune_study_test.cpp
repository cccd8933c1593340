#include "cli/tune_study.h"

#include "base/test_error.h"

#include <gmock/gmock.h>

namespace deepgap {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> delays_under(const std::string& slo) {
  const TuneStudy tune = make_tune_study({.axes = {{"model", {"resnet50"}}, {"bound", {slo}}}, .window = {}, .cpus = 2});
  for (const Grid& grid : tune.study.grids) {
    if (const Axis* delays = find_axis(grid.axes, "max_delay")) return delays->values;
  }
  return {};
}

TEST(TuneStudy, delays_are_written_as_a_person_would) {
  EXPECT_THAT(delays_under("p99=50ms"), ElementsAre("0", "5ms"));
  EXPECT_THAT(delays_under("p99=15ms"), ElementsAre("0", "1500us"));
}

TEST(TuneStudy, batches_of_several_queries_need_an_slo) {
  EXPECT_THAT(error_of([] {
                make_tune_study({.axes = {{"model", {"resnet50"}}, {"max_delay", {"5ms"}}}, .window = {}});
              }),
              HasSubstr("give --slo, or tune --batch"));
}

}  // namespace
}  // namespace deepgap
