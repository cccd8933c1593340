#include "cli/rerun_jobs.h"

#include "base/test_error.h"
#include "record/duel_set.h"
#include "record/example_record.h"
#include "record/published.h"
#include "record/record_json.h"
#include "record/tenant_set.h"

#include <gmock/gmock.h>

namespace deepgap {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(RerunJobs, HaveTheSettingsOfTheRecord) {
  Record record = example_record(1);
  record.repeat = 2;
  record.sweep = 1;
  const std::vector<Job> jobs = rerun_jobs({&record}, 2);
  ASSERT_EQ(jobs.size(), 2u);
  EXPECT_EQ(jobs[0].point, record.point);
  EXPECT_EQ(jobs[0].point_id, point_id(record.point));
  EXPECT_EQ(jobs[0].stopping, record.stopping);
  EXPECT_EQ(jobs[0].sweep, 1);
  EXPECT_EQ(jobs[0].repeat, 2) << "arrivals are drawn by it";
  EXPECT_EQ(jobs[1].repeat, 3);
  EXPECT_TRUE(jobs[0].check);
  record.check.reset();
  record.unchecked = true;
  EXPECT_FALSE(rerun_jobs({&record}, 1)[0].check) << "nobody wanted it";
  record.reason = "no reference";
  EXPECT_TRUE(rerun_jobs({&record}, 1)[0].check);
}

TEST(RerunJobs, OneRecordIsNamed) {
  const std::vector<Record> one{example_record(1)}, two{example_record(1), example_record(2)};
  EXPECT_EQ(&only_one(one, "ab"), &one[0]);
  EXPECT_THAT(error_of([] { only_one({}, "zz"); }), HasSubstr("no record_id begins with 'zz'"));
  EXPECT_THAT(error_of([&] { only_one(two, "ab"); }), HasSubstr("several record_ids begin with ab"));
}

TEST(RerunJobs, KinAreRepeatsOfItsRun) {
  const Record record = example_record(1);
  Record repeat = record, other_run = record;
  repeat.repeat = 7;
  other_run.run_id = "another";
  EXPECT_TRUE(is_kin(record, repeat));
  EXPECT_FALSE(is_kin(record, other_run));
  EXPECT_FALSE(is_kin(record, example_record(2)));
}

TEST(RerunJobs, WhatWasMeasuredTogetherIsRepeatedTogether) {
  std::vector<Record> records{example_record(1), example_record(1), example_record(1)};
  std::vector<Point> points{records[0].point, records[1].point};
  points[0].backend = "native";
  points[1].backend = "onnxruntime";
  const std::vector<std::string> values{"native", "onnxruntime"};
  join_duel(points, "backend", values);
  records[0].point = points[1];
  records[1].point = points[0];
  EXPECT_THAT(measured_together(records, records[0]), ElementsAre(&records[1], &records[0])) << "in their order";
  EXPECT_THAT(measured_together(records, records[2]), ElementsAre(&records[2]));
  records[1].run_id = "another";
  EXPECT_THAT(error_of([&] { measured_together(records, records[0]); }, ErrorKind::input),
              HasSubstr("measured with 1 other, of which the store has 0"));
}

TEST(RerunJobs, TenantsTooAreRepeatedTogether) {
  std::vector<Record> records{example_record(1), example_record(2)};
  std::vector<Point> points{records[0].point, records[1].point};
  join_tenants(points);
  for (size_t i = 0; i < 2; ++i) {
    records[i].point = points[i];
    records[i].repeat = 0;
  }
  EXPECT_THAT(measured_together(records, records[1]), ElementsAre(&records[0], &records[1]));
}

TEST(RerunJobs, WhatNoPlanMeasuredAloneIsRefused) {
  const auto refusal = [](const char* option, const char* value) {
    Record record = example_record(1);
    record.point.options[option] = value;
    return error_of([&] { rerun_jobs({&record}, 1); });
  };
  EXPECT_THAT(refusal(published_option, "somebody"), HasSubstr("cannot be repeated: somebody published it"));
  EXPECT_THAT(refusal("peak", "search"), HasSubstr("it is one run of a search"));
  EXPECT_THAT(refusal("tune_run", "search"), HasSubstr("it is one run of a search"));
}

}  // namespace
}  // namespace deepgap
