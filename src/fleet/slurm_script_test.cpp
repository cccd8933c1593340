#include "fleet/slurm_script.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

namespace deepgap {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Fleet example_fleet(int tasks) {
  Fleet fleet;
  fleet.folder = "/shared/s.fleet";
  fleet.id = "1a2b3c4d";
  fleet.study = "s";
  fleet.program = "/opt/it's/bin/deepgap";
  fleet.cpus = 4;
  fleet.kinds = {"", "h100"};
  fleet.options = {{"partition", "a,b"}, {"max-jobs", "8"}, {"account", "physics"}};
  fleet.task_groups = {{0, "resnet18", "cpu", 0, 0, tasks, 300, 300.0 * tasks, 10}, {1, "resnet50", "cuda", 2, tasks, 1, 300, 300, 10}};
  for (int i = 0; i < tasks; ++i) fleet.tasks.push_back({0, 4, 300});
  fleet.tasks.push_back({1, 4, 300});
  return fleet;
}

std::vector<int> all_tasks(const Fleet& fleet) {
  std::vector<int> tasks(fleet.tasks.size());
  std::iota(tasks.begin(), tasks.end(), 0);
  return tasks;
}

TEST(SlurmScript, ArraysHoldEveryTaskOnceBelowSlurmsLimit) {
  const Fleet fleet = example_fleet(2500);
  const auto arrays = slurm_arrays(fleet, all_tasks(fleet), 1001);
  ASSERT_EQ(arrays.size(), 4u);  // three of the first task group, one of the second
  std::vector<int> seen;
  for (const SlurmArray& array : arrays) {
    for (const int index : array.indices) {
      EXPECT_LT(index, 1001);
      seen.push_back(array.first + index);
      EXPECT_EQ(&fleet.task_group_of(seen.back()), array.task_group);
    }
  }
  EXPECT_EQ(seen, all_tasks(fleet));
  EXPECT_EQ(slurm_arrays(fleet, {1007, 1003, 5}, 1001).at(1).indices, (std::vector<int>{2, 6}));
}

TEST(SlurmScript, SaysWhatTheUserAskedFor) {
  const Fleet fleet = example_fleet(12);
  const auto arrays = slurm_arrays(fleet, all_tasks(fleet), 1001);
  const std::string script = slurm_script(fleet, arrays[0]);
  for (const char* line :
       {"#SBATCH --array=0-11%8\n", "#SBATCH --job-name=deepgap-1a2b3c4d-0\n", "#SBATCH --partition=a,b\n", "#SBATCH --account=physics\n",
        "#SBATCH --cpus-per-task=4\n", "#SBATCH --time=0-00:20:00\n", "#SBATCH --requeue\n", "#SBATCH --exclusive\n",
        "deepgap='/opt/it'\\''s/bin/deepgap'\n", "fleet task '/shared/s.fleet' $((0 + SLURM_ARRAY_TASK_ID))"})
    EXPECT_THAT(script, HasSubstr(line));
  EXPECT_THAT(script, Not(HasSubstr("--gres")));
  EXPECT_THAT(script, Not(HasSubstr("--constraint")));
  const std::string of_gpus = slurm_script(fleet, arrays[1]);
  EXPECT_THAT(of_gpus, HasSubstr("#SBATCH --gres=gpu:2\n"));
  EXPECT_THAT(of_gpus, HasSubstr("#SBATCH --constraint=h100\n"));
  EXPECT_THAT(slurm_probe_script(fleet, arrays[1]), HasSubstr("fleet probe '/shared/s.fleet' 12"));
}

TEST(SlurmScript, ABundleIsUnpackedOnTheNode) {
  Fleet fleet = example_fleet(1);
  fleet.bundle = "/shared/deepgap.tar.gz";
  const std::string script = slurm_script(fleet, slurm_arrays(fleet, {0}, 10)[0]);
  EXPECT_THAT(script, HasSubstr("bundle='/shared/deepgap.tar.gz'\n"));
  EXPECT_THAT(script, HasSubstr("deepgap=$folder/bin/deepgap"));
}

TEST(SlurmScript, TimesAreReadAsSlurmWritesThem) {
  EXPECT_EQ(slurm_seconds("30"), 1800);
  EXPECT_EQ(slurm_seconds("30:30"), 1830);
  EXPECT_EQ(slurm_seconds("1:00:01"), 3601);
  EXPECT_EQ(slurm_seconds("2-12"), 216000);
  EXPECT_EQ(slurm_seconds("1-00:30:00"), 88200);
  EXPECT_EQ(slurm_seconds("infinite"), 0);
  for (const char* wrong : {"", "soon", "1:2:3:4", "-5", "1-"}) EXPECT_FALSE(slurm_seconds(wrong)) << wrong;
  EXPECT_EQ(slurm_seconds(slurm_time(90061)), 90120);  // whole minutes
  EXPECT_EQ(index_ranges({0, 1, 2, 5, 7, 8}), "0-2,5,7-8");
}

TEST(SlurmScript, TheQueueTellsWhatBecameOfTasks) {
  const Fleet fleet = example_fleet(12);
  const auto queue = slurm_queue(fleet,
                                 "deepgap-1a2b3c4d-0|3|RUNNING|n7|None\n"
                                 "deepgap-1a2b3c4d-0|4|PENDING||Resources\n"
                                 "deepgap-1a2b3c4d-0|5|PENDING||launch failed requeued held\n"
                                 "deepgap-1a2b3c4d-12|0|PENDING||DependencyNeverSatisfied\n"
                                 "deepgap-1a2b3c4d-probe-0|N/A|RUNNING|n1|None\n"
                                 "deepgap-ffffffff-0|1|RUNNING|n2|None\nother|1|RUNNING|n3|None\n");
  using State = QueuedTask::State;
  ASSERT_EQ(queue.size(), 4u);
  EXPECT_EQ(queue[0].task, 3);
  EXPECT_EQ(queue[0].state, State::running);
  EXPECT_EQ(queue[0].node, "n7");
  EXPECT_EQ(queue[1].state, State::waiting);
  EXPECT_EQ(queue[2].state, State::held);
  EXPECT_EQ(queue[3].task, 12);
  EXPECT_EQ(queue[3].state, State::held);
}

}  // namespace
}  // namespace deepgap
