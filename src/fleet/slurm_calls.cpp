#include "fleet/slurm_calls.h"

#include "base/text.h"
#include "fleet/program.h"
#include "fleet/slurm_script.h"

#include <deepgap/error.h>

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

namespace deepgap {
namespace {

constexpr const char* remedy = "Slurm's programs are missing (some sites have a module for them); or name another --scheduler";
constexpr int most_calls = 6;  // tries of a program that cannot reach its controller

// Returns 8 for "gpu:h100:8(S:0-1),nic:2"; without a number, 1.
int gpus_in(const std::string& gres) {
  int count = 0;
  for (std::string one : split(gres, ',')) {
    if (!one.starts_with("gpu")) continue;
    one = one.substr(0, one.find('('));
    count += static_cast<int>(parse_int(one.substr(one.rfind(':') + 1)).value_or(1));
  }
  return count;
}

[[noreturn]] void fail_on(const std::string& program, const std::string& output) {
  const size_t fatal = output.find(": fatal: ");
  if (fatal == std::string::npos) throw Error(ErrorKind::input, fmt::format("{}: {}", program, slurm_words(program, output)));
  throw Error(ErrorKind::input,
              fmt::format("{} finds no Slurm cluster: {}; set SLURM_CONF to the cluster's slurm.conf, or name another --scheduler", program,
                          slurm_words(program, output.substr(output.rfind('\n', fatal) + 1))));
}

}  // namespace

std::string slurm_words(const std::string& program, const std::string& output) {
  std::vector<std::string> lines;
  for (std::string line : split(trim(output), '\n')) {
    for (const std::string& mark : {program + ": ", std::string("error: "), std::string("fatal: ")}) {
      if (line.starts_with(mark)) line = line.substr(mark.size());
    }
    if (!trim(line).empty()) lines.push_back(trim(line));
  }
  return join(lines, "; ");
}

std::string slurm_call(const std::vector<std::string>& command) {
  for (int i = 1;; ++i) {
    const ProgramResult result = run_program(command, remedy);
    if (result.exit.ok() && !result.timed_out) return result.output;
    const auto says = [&](const char* words) { return result.output.find(words) != std::string::npos; };
    const bool passes = !says("unable to accept job") &&  // sbatch itself asks again and again
                        (result.timed_out || says("Unable to contact") || says("timed out") || says("Connection refused"));
    if (!passes || i == most_calls) fail_on(command.front(), result.output);
    std::this_thread::sleep_for(std::chrono::seconds(i));
  }
}

std::vector<SlurmPartition> slurm_partitions() {
  std::map<std::string, SlurmPartition> found;
  for (const std::string& line : split(slurm_call({"sinfo", "-h", "-o", "%P|%l|%c|%G|%f|%a"}), '\n')) {
    const std::vector<std::string> parts = split(line, '|');
    if (parts.size() < 6) continue;
    const std::string name = parts[0].substr(0, parts[0].find('*'));
    SlurmPartition& partition = found[name];
    partition.name = name;
    partition.is_default = parts[0].ends_with("*");
    partition.limit_s = slurm_seconds(parts[1]).value_or(0);
    std::string cpus = parts[2];
    std::erase(cpus, '+');
    const int count = static_cast<int>(parse_int(cpus).value_or(0));
    partition.cpus = partition.cpus == 0 ? count : std::min(partition.cpus, count);
    const int gpus = gpus_in(parts[3]);
    partition.gpus = std::max(partition.gpus, gpus);
    partition.is_up = parts[5] == "up";
    for (const std::string& feature : split(parts[4], ',')) {
      if (feature == "(null)") continue;
      int& most = partition.features[feature];
      most = std::max(most, gpus);
    }
  }
  std::vector<SlurmPartition> list;
  for (auto& [name, partition] : found) list.push_back(std::move(partition));
  return list;
}

int slurm_array_size() {
  for (const std::string& line : split(slurm_call({"scontrol", "show", "config"}), '\n')) {
    if (!line.starts_with("MaxArraySize")) continue;
    return static_cast<int>(std::max<int64_t>(1, parse_int(trim(line.substr(line.find('=') + 1))).value_or(1001)));
  }
  return 1001;
}

std::string slurm_jobs(const std::string& format) {
  return slurm_call({"squeue", "-h", "-r", "-u", std::to_string(::getuid()), "-o", format});
}

}  // namespace deepgap
