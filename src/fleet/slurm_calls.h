// What Slurm's own programs report: sinfo, squeue, scontrol.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace deepgap {

// Returns what the program prints; a controller that is busy or being restarted is asked again. Throws Error{input} in its words.
std::string slurm_call(const std::vector<std::string>& command);
// "sinfo: error: a\nsinfo: fatal: b": "a; b".
std::string slurm_words(const std::string& program, const std::string& output);

struct SlurmPartition {
  std::string name;
  double limit_s = 0;  // 0: none
  int cpus = 0;        // CPUs of its smallest node
  bool is_up = true, is_default = false;
  int gpus = 0;                         // GPUs of the node that has most
  std::map<std::string, int> features;  // features of its nodes, with the GPUs of the node that has most
};
std::vector<SlurmPartition> slurm_partitions();

int slurm_array_size();                             // the most tasks of an array
std::string slurm_jobs(const std::string& format);  // this user's, a line each, as squeue -o takes the format

}  // namespace deepgap
