// Writes what a fleet would have handed in, without having run: for each task one Store with a made-up Record for each of its runs, and an
// attempt that says it is done. For gathering at sizes that nobody waits for.
//     fleet_result FOLDER NODES [TASK...]   of a fleet that was submitted and not begun; its tasks, or those named, are shared out among
//                                           so many nodes
#include "base/file.h"
#include "fleet/fleet.h"
#include "record/example_record.h"
#include "store/store.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <random>
#include <vector>

namespace deepgap {
namespace {

Record made_up(const Fleet& fleet, const Job& job, const Attempt& attempt, uint64_t number, double throughput) {
  Record record = example_record(number, 20);
  record.record_id = fmt::format("{}{:024x}", fleet.id, number);
  record.run_id = fmt::format("{}{:024x}", fleet.id, attempt.task);
  record.study = fleet.study;
  record.point = job.point;
  record.repeat = job.repeat;
  record.sweep = job.sweep;
  record.estimates["throughput"] = {throughput, throughput * 0.99, throughput * 1.01, 20};
  record.environment["host.name"] = attempt.node;
  record.facts["fleet.node"] = attempt.node;
  record.facts["fleet.task"] = int64_t{attempt.task};
  record.facts["fleet.id"] = fleet.id;
  return record;
}

// Returns how many Records it wrote.
size_t hand_in(const Fleet& fleet, int task, int node) {
  Attempt attempt;
  attempt.task = task;
  attempt.node = fmt::format("n{}", node);
  attempt.id = fmt::format("simulated-{:06}", task);
  attempt.device = "Example CPU @ 2.10GHz, 2 CPUs";
  attempt.state = Attempt::State::done;
  attempt.began_unix = attempt.reported_unix = fleet.created_unix;
  std::mt19937_64 random(static_cast<uint64_t>(task));
  std::normal_distribution<double> noise(0, 0.01);
  std::vector<Record> records;
  uint64_t number = static_cast<uint64_t>(task) << 24;  // unlike those of any other task
  for (const Job& job : read_task(fleet, task)) {
    const double throughput = 1000 * std::exp(noise(random));
    records.push_back(made_up(fleet, job, attempt, number++, throughput));
    if (job.point_id == fleet.task_group_of(task).common) attempt.common.push_back(throughput);
  }
  attempt.records = static_cast<int64_t>(records.size());
  make_directories(fleet.parts_of(task));
  Store(fmt::format("{}/whole-{}.db", fleet.parts_of(task), attempt.id), Store::Mode::append).append(records);
  write_attempt(fleet, attempt);
  return records.size();
}

}  // namespace
}  // namespace deepgap

int main(int argc, char** argv) try {
  using namespace deepgap;
  if (argc < 3) {
    fmt::print(stderr, "fleet_result FOLDER NODES [TASK...]\n");
    return 2;
  }
  const Fleet fleet = read_fleet(argv[1]);
  const int nodes = std::max(1, std::atoi(argv[2]));
  std::vector<int> tasks(argc > 3 ? 0 : fleet.tasks.size());
  std::iota(tasks.begin(), tasks.end(), 0);
  for (int i = 3; i < argc; ++i) tasks.push_back(std::atoi(argv[i]));
  size_t records = 0;
  for (const int task : tasks) records += hand_in(fleet, task, task % nodes);
  fmt::print("{} records of {} tasks on {} nodes\n", records, tasks.size(), nodes);
  return 0;
} catch (const deepgap::Error& error) {
  fmt::print(stderr, "fleet_result: {}\n", error.what());
  return 1;
}
