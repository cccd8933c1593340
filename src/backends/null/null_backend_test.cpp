#include "backends/null/null_backend.h"

#include <gtest/gtest.h>

namespace deepgap {
namespace {

TEST(NullBackend, VirtualTimeIsNotShared) {
  Point point;
  point.options["null.clock"] = "virtual";
  EXPECT_TRUE(NullBackend().supports(point, {}).ok);
  point.options["end_to_end"] = "serial";
  EXPECT_FALSE(NullBackend().supports(point, {}).ok);
  point.options["null.clock"] = "real";
  EXPECT_TRUE(NullBackend().supports(point, {}).ok);
  point.options["null.clock"] = "sidereal";
  EXPECT_THROW(NullBackend().supports(point, {}), Error);
}

}  // namespace
}  // namespace deepgap
