// The flags that users of trtexec, benchmark_app, perf_analyzer, genai-perf, onnxruntime_perf_test, hyperfine, nvbench, Google Benchmark
// and llama-bench know: taken where they mean the same as a flag of ours, else answered with ours by name. Pure.
#pragma once

#include <string>
#include <vector>

namespace deepgap {

// The flags of one subcommand.
struct OwnFlags {
  std::vector<std::string> names;  // long ones, without "--"
  std::string letters;             // short ones, without "-"
  std::string switches;            // those of `letters` that take no value
};

// `arguments` follow the subcommand `command`. What is ours stays as it is; what stands behind "--" is no flag ("-x" becomes "./-x"). Other
// tools' flags become ours ("--fp16": "--precision", "fp16"), as does one of ours with a single dash ("-model"). Throws Error{usage} for a
// flag of theirs that means something else here, saying what to write, and for letters behind one dash that are neither ("-hlp" is not -h).
std::vector<std::string> in_our_spelling(const std::string& command, const std::vector<std::string>& arguments, const OwnFlags& own);

}  // namespace deepgap
