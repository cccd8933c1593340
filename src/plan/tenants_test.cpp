#include "plan/planner.h"
#include "plan/study.h"

#include "base/test_error.h"
#include "record/tenant_set.h"

#include <deepgap/error.h>

#include <gmock/gmock.h>

namespace deepgap {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Study study_of(std::vector<Axis> axes, std::vector<TenantAxes> tenants) {
  Study study;
  Grid& grid = study.grids.emplace_back();
  grid.axes = std::move(axes);
  grid.tenants = std::move(tenants);
  return study;
}

std::string error_of_study(std::vector<Axis> axes, std::vector<TenantAxes> tenants) {
  return error_of([&] { expand(study_of(std::move(axes), std::move(tenants)), 4); });
}

TEST(Tenants, each_is_measured_alone_and_with_the_others) {
  const auto jobs =
      expand(study_of({{"backend", {"null"}}, {"batch", {"2"}}}, {{{"model", {"a"}}, {"batch", {"8"}}}, {{"model", {"b"}}}}), 4);
  ASSERT_EQ(jobs.size(), 4u);
  EXPECT_FALSE(tenant_place(jobs[0].point));
  EXPECT_EQ(jobs[0].point.batch, 8);
  EXPECT_EQ(jobs[1].point.batch, 2) << "what a tenant does not say is the grid's";
  EXPECT_EQ(tenant_name(jobs[2].point), "a batch=8");
  EXPECT_EQ(tenant_name(jobs[3].point), "b batch=2");
  EXPECT_EQ(without_tenants(jobs[3].point), jobs[1].point);
  for (const Job& job : jobs) {
    EXPECT_EQ(job.stopping.name, "duration") << "windows of one length";
    EXPECT_EQ(job.point.threads, 4);
  }
}

TEST(Tenants, lists_of_a_tenant_and_of_the_grid_are_axes) {
  const auto jobs =
      expand(study_of({{"model", {"a"}}, {"tenant_cpus", {"share", "split"}}}, {{{"batch", {"1", "8"}}}, {{"batch", {"4"}}}}), 4);
  size_t together = 0;
  for (const Job& job : jobs) together += tenant_place(job.point) ? 1 : 0;
  EXPECT_EQ(together, 2u * 2 * 2) << "two ways to use the CPUs, two batches of the first, two tenants";
  EXPECT_EQ(jobs.size() - together, 3u) << "each alone once";
}

// A tenant of several sets is measured alone once, as is meant: nobody named it twice.
TEST(Tenants, of_several_sets_are_alone_once_without_a_word) {
  std::vector<std::string> notes;
  const auto jobs = expand(study_of({{"model", {"a"}}}, {{{"batch", {"1", "8"}}}, {{"batch", {"8"}}}}), 4, &notes);
  EXPECT_EQ(jobs.size(), 2u + 2 * 2) << "batch 1 and 8 alone, two sets of two";
  EXPECT_TRUE(notes.empty()) << notes[0];
}

TEST(Tenants, are_not_asked_at_the_same_times) {
  const auto jobs = expand(study_of({{"model", {"a"}}, {"scenario", {"server"}}, {"rate", {"20"}}}, {{}, {}, {{"arrivals", {"7"}}}}), 4);
  ASSERT_EQ(jobs.size(), 6u);
  EXPECT_FALSE(jobs[0].point.options.contains("arrivals"));
  EXPECT_EQ(jobs[1].point.options.at("arrivals"), "1");
  EXPECT_EQ(jobs[4].point.options.at("arrivals"), "1") << "the same alone as beside the others";
  EXPECT_EQ(jobs[5].point.options.at("arrivals"), "7");
}

TEST(Tenants, a_skip_rule_for_one_leaves_out_the_set) {
  Study study = study_of({}, {{{"model", {"a"}}, {"batch", {"1", "8"}}}, {{"model", {"b"}}}});
  study.grids[0].skips = {{{{"model", "=", "a"}, {"batch", "=", "8"}}, ""}};
  EXPECT_EQ(expand(study, 4).size(), 4u);
  study.grids[0].skips[0].reason = "too large";
  const auto jobs = expand(study, 4);
  size_t skipped = 0;
  for (const Job& job : jobs) skipped += job.skip_reason.empty() ? 0 : 1;
  EXPECT_EQ(skipped, 3u) << "a alone at batch 8, and both of the set";
}

TEST(Tenants, the_planner_gives_a_set_as_one_batch_in_its_order) {
  std::vector<Job> jobs = expand(study_of({}, {{{"model", {"a"}}}, {{"model", {"b"}}}, {{"model", {"c"}}}}), 4);
  const auto key = [](const Job& job) { return tenant_place(job.point) ? tenant_set_key(job.point).tenants : job.point_id; };
  for (const uint64_t seed : {1, 2, 3}) {
    const auto planner = make_grid_planner(jobs, seed, key, {});
    for (Batch batch = planner->next(); !batch.jobs.empty(); batch = planner->next()) {
      std::vector<std::string> models;
      for (const Job& job : batch.jobs) models.push_back(job.point.model);
      if (tenant_place(batch.jobs[0].point)) {
        EXPECT_THAT(models, ElementsAre("a", "b", "c"));
      }
    }
  }
}

TEST(Tenants, what_cannot_be_is_told) {
  const TenantAxes a{{"model", {"a"}}}, b{{"model", {"b"}}};
  EXPECT_THAT(error_of_study({}, {a}), HasSubstr("needs at least one other"));
  EXPECT_THAT(error_of_study({}, {a, {{"batch", {"2"}}}}), HasSubstr("tenant 2: no model"));
  EXPECT_THAT(error_of_study({{"tenant_cpus", {"half"}}}, {a, b}),
              HasSubstr("invalid value 'half' for tenant_cpus: expected share or split"));
  EXPECT_THAT(error_of_study({{"tenant_cpus", {"split"}}, {"affinity", {"0"}}}, {a, b}), HasSubstr("leave out affinity"));
  EXPECT_THAT(error_of_study({{"processes", {"2"}}}, {a, b}), HasSubstr("each tenant is one process"));
  EXPECT_THAT(error_of_study({{"mlperf", {"v6.0"}}}, {a, b}), HasSubstr("MLPerf"));
  EXPECT_THAT(error_of_study({{"model", {"a"}}, {"tenant_cpus", {"split"}}}, {}), HasSubstr("add --tenant twice"));
  EXPECT_THAT(error_of_study({{"model", {"a"}}, {"tenants", {"x"}}}, {}), HasSubstr("cannot be set"));
  EXPECT_THAT(error_of_study({}, std::vector<TenantAxes>(65, a)), HasSubstr("at most 64"));
  EXPECT_THAT(error_of_study({}, std::vector<TenantAxes>(64, {{"model", std::vector<std::string>(2, "a")}})), HasSubstr("more than"));
  Study study = study_of({}, {a, b});
  study.grids[0].stopping.interval = 0.02;
  EXPECT_THAT(error_of([&] { expand(study, 4); }), HasSubstr("windows of one length"));
}

TEST(Tenants, the_flag_takes_lists_and_values_with_an_equals_sign) {
  const TenantAxes axes = parse_tenant("model=resnet50,batch=1,8,bound=p99=15ms,native.pin=off");
  ASSERT_EQ(axes.size(), 4u);
  EXPECT_THAT(axes[1].values, ElementsAre("1", "8"));
  EXPECT_EQ(axes[2].name, "bound");
  EXPECT_THAT(axes[2].values, ElementsAre("p99=15ms"));
  EXPECT_EQ(axes[3].name, "native.pin");
  for (const char* wrong : {"", "resnet50", "=8", ",batch=8", "batch=", "batch=x", "batch=1,batch=2", "Batch=1"})
    EXPECT_NE(error_of([&] { parse_tenant(wrong); }), "no error") << wrong;
}

TEST(Tenants, stand_in_a_study_file) {
  const Study study = parse_study(R"([[grid]]
backend = "native"
[[grid.tenant]]
model = "resnet50"
batch = "1..4*2"
[[grid.tenant]]
model = "mobilenet_v2"
scenario = "server"
options = { rate = 20 }
[[grid.skip]]
rate = 30
)",
                                  "t.toml");
  ASSERT_EQ(study.grids[0].tenants.size(), 2u);
  EXPECT_THAT(study.grids[0].tenants[0][1].values, ElementsAre("1", "2", "4"));
  EXPECT_EQ(study.grids[0].tenants[1][2].name, "rate");
  const auto error = [](const std::string& tenant) { return error_of([&] { parse_study("[[grid]]\n" + tenant, "t.toml"); }); };
  EXPECT_THAT(error("[[grid.tenant]]\nrepeats = 2\n"), HasSubstr("t.toml:3: unknown key 'repeats'"));
  EXPECT_THAT(error("[[grid.tenant]]\nmodl = \"a\"\n"), HasSubstr("did you mean 'model'"));
  EXPECT_THAT(error("[grid.tenant]\nmodel = \"a\"\n"), HasSubstr("double brackets"));
}

}  // namespace
}  // namespace deepgap
