// Tables of what the flags of other tools become here, or what is answered to them. Only for src/cli/spellings.cpp, which reads
// them.
#pragma once

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace deepgap {

// The other words on the command line.
class OtherWords {
 public:
  explicit OtherWords(const std::vector<std::string>& arguments) : arguments_(arguments) {}
  bool have(std::initializer_list<std::string_view> flags) const {
    return std::any_of(arguments_.begin(), arguments_.end(), [&](const std::string& word) {
      return std::any_of(flags.begin(), flags.end(),
                         [&](std::string_view flag) { return word == flag || word.starts_with(std::string(flag) + "="); });
    });
  }
  bool have_word(std::string_view word) const { return std::find(arguments_.begin(), arguments_.end(), word) != arguments_.end(); }

 private:
  const std::vector<std::string>& arguments_;
};

// Adds a scenario, unless the user names one.
inline std::vector<std::string> with_scenario(const char* scenario, const OtherWords& others, std::vector<std::string> words) {
  if (!others.have({"-s", "--scenario"})) words.insert(words.begin(), {"--scenario", scenario});
  return words;
}

// A flag of another tool as words of ours. Throws Error{usage} for a value that has no meaning here.
struct TheirFlag {
  std::string_view flag;
  bool takes_value;
  std::vector<std::string> (*ours)(const std::string& value, const OtherWords& others);
};

// A flag of another tool that means something else here, or nothing: "FLAG (TOOL) ANSWER".
struct TheirAnswer {
  std::string_view flag, tool, ours;
};

// Returns the answer to a flag of ours with a value that only another tool's flag of that name can have; `value` is the next word where
// the flag has none of its own. `knows` says whether the command has a flag.
using KnowsFlag = std::function<bool(const std::string&)>;
std::optional<std::string> meant_otherwise(const std::string& flag, const std::string& value, const KnowsFlag& knows,
                                           const OtherWords& others);

// Returns the flags of hyperfine, nvbench, Google Benchmark and llama-bench.
std::span<const TheirFlag> flags_of_benchmark_tools();
std::span<const TheirAnswer> answers_to_benchmark_tools();

// Returns the flags of onnxruntime_perf_test, genai-perf and other benchmarks of LLM servers, and the rarer ones of trtexec, benchmark_app,
// perf_analyzer and llama-bench.
std::span<const TheirFlag> flags_of_engine_tools();
std::span<const TheirAnswer> answers_to_engine_tools();

}  // namespace deepgap
