// Programs of others that a Scheduler calls: sbatch, squeue, ssh. Main thread only (base/subprocess.h).
#pragma once

#include "base/subprocess.h"

#include <chrono>
#include <map>
#include <string>
#include <vector>

namespace deepgap {

// The path of a program in $PATH, or of a path itself; empty: there is none.
std::string find_program(const std::string& name);

std::string shell_word(const std::string& text);  // in single quotes, whatever is in it

struct ProgramResult {
  ExitState exit;
  std::string output;  // stdout and stderr together, at most 64 MiB from the end
  bool timed_out = false;
};
// Never through a shell. Throws Error{input} "NAME is not in $PATH: REMEDY" where there is none.
ProgramResult run_program(const std::vector<std::string>& command, const std::string& remedy,
                          std::chrono::seconds longest = std::chrono::seconds(120),
                          const std::map<std::string, std::string>& environment = {});

}  // namespace deepgap
