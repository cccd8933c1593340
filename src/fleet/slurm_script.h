// The texts that Slurm gets and answers. Pure functions.
#pragma once

#include "fleet/scheduler.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace deepgap {

// An array of tasks `first` + index; the indices are below Slurm's MaxArraySize.
struct SlurmArray {
  const TaskGroup* task_group = nullptr;
  int first = 0;
  std::vector<int> indices;  // sorted
  std::string name;          // "deepgap-1a2b3c4d-0": the fleet and `first`, so that the queue shows which tasks it has
};
std::vector<SlurmArray> slurm_arrays(const Fleet& fleet, const std::vector<int>& tasks, int max_array_size);

// Readable, and as good by hand: `sbatch FILE`.
std::string slurm_script(const Fleet& fleet, const SlurmArray& array);
// The first look at a node of the kind, on which all arrays of it depend.
std::string slurm_probe_script(const Fleet& fleet, const SlurmArray& array);
std::string slurm_probe_log(int kind);  // what its log's name begins with; the job's number follows

// "0-3,7,9-12".
std::string index_ranges(const std::vector<int>& indices);
// "30" and "30:00" are minutes, "1:30:00", "2-12", "1-00:30:00"; "infinite" and "UNLIMITED" are 0; nullopt: no time.
std::optional<double> slurm_seconds(std::string_view text);
std::string slurm_time(double seconds);  // "1-02:03:00", whole minutes

// Lines of `squeue -h -r -o "%j|%K|%T|%N|%r"` that are this fleet's tasks.
std::vector<QueuedTask> slurm_queue(const Fleet& fleet, const std::string& lines);

}  // namespace deepgap
