// Flags of ours with a value that only another tool's flag of the same name can have.
#include "base/text.h"
#include "cli/other_tools.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace deepgap {
namespace {

bool is_one_of(std::initializer_list<std::string_view> list, std::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

bool is_count(const std::string& text) { return parse_int(text).has_value(); }

bool is_list_of_counts(const std::string& text) {
  const std::vector<std::string> parts = split(text, ',');
  return parts.size() > 1 && std::all_of(parts.begin(), parts.end(), is_count);
}

bool begins_with_letter(const std::string& text) { return !text.empty() && std::isalpha(static_cast<unsigned char>(text[0])) != 0; }

// llama-bench's "1-4", "1-8+2" and "1-8*2" as "1..4", "1..8+2" and "1..8*2".
std::optional<std::string> range_of_llama_bench(const std::string& text) {
  const size_t dash = text.find('-');
  if (dash == std::string::npos || !is_count(text.substr(0, dash))) return std::nullopt;
  const std::string rest = text.substr(dash + 1);
  const size_t step = rest.find_first_of("+*");
  const bool is_range = is_count(rest.substr(0, step)) && (step == std::string::npos || is_count(rest.substr(step + 1)));
  return is_range ? std::optional(text.substr(0, dash) + ".." + rest) : std::nullopt;
}

// nvbench's "batch=[1,2,4]", "batch[pow2]=[0:3:1]" and "T{io}=[1,2]".
bool is_axis_of_nvbench(const std::string& value) {
  const size_t equals = value.find('=');
  if (equals == std::string::npos) return false;
  return value.substr(0, equals).find_first_of("[{") != std::string::npos || (value[equals + 1] == '[' && value.ends_with(']'));
}

std::optional<std::string> counts_meant_otherwise(const std::string& flag, const std::string& value, const KnowsFlag& knows) {
  const bool counts = is_count(value) || is_list_of_counts(value);
  if (flag == "-p" && counts && knows("--precision"))
    return fmt::format("-p {} is a flag of llama-bench: -p means --precision in deepgap; give sizes with --shape INPUT:1x{}", value,
                       split(value, ',').front());
  if (flag == "-n" && is_list_of_counts(value) && knows("--iterations"))
    return fmt::format("-n {} is a flag of llama-bench: -n means --iterations in deepgap; use --output-tokens {}", value, value);
  if (flag == "-m" && is_count(value))
    return fmt::format("-m {} is a flag of hyperfine: -m means --model in deepgap; use --repeats N, and --interval 1% for each", value);
  if (flag == "-s" && is_count(value) && knows("--interval"))
    return fmt::format("-s {} is a flag of perf_analyzer: -s means --scenario in deepgap; use --interval {}%", value, value);
  if (flag == "-w" && is_count(value) && knows("--warmup"))
    return fmt::format("-w {} is a flag of hyperfine: -w means --weights in deepgap; use --warmup {}", value, value);
  if (is_one_of({"-t", "--threads"}, flag) && knows("--threads"))
    if (const auto range = range_of_llama_bench(value))
      return fmt::format("{} {} is a range of llama-bench: use --threads {}", flag, value, *range);
  return std::nullopt;
}

// Returns whether "--json VALUE" is nvbench's, whose value is a file. Our --json has no value, so the next word is a study or the model,
// unless -m has named the model already.
bool is_json_file_of_nvbench(const std::string& value, const OtherWords& others) {
  if (value.empty() || value.starts_with("-") || value.ends_with(".toml")) return false;
  const size_t dot = value.rfind('.');
  const std::string ending = dot == std::string::npos ? "" : value.substr(dot);
  if (is_one_of({".json", ".jsonl", ".txt", ".log", ".out"}, ending) || is_one_of({"stdout", "stderr"}, value)) return true;
  const bool is_switch = is_one_of({"true", "false", "on", "off", "1", "0"}, value);
  return !is_switch && (others.have_word("--json=" + value) || others.have({"-m", "--model", "--onnx"}));
}

}  // namespace

std::optional<std::string> meant_otherwise(const std::string& flag, const std::string& value, const KnowsFlag& knows,
                                           const OtherWords& others) {
  if (auto meant = counts_meant_otherwise(flag, value, knows)) return meant;
  if (flag == "-n" && begins_with_letter(value) && knows("--iterations"))
    return fmt::format("-n {} is a flag of hyperfine: -n means --iterations in deepgap; use --study {}", value, value);
  if (flag == "-u" && is_one_of({"microsecond", "millisecond", "second"}, value) && !knows("-u"))
    return fmt::format("-u {} is a flag of hyperfine: leave it out: every column names its unit", value);
  if (flag == "-i" && is_one_of({"grpc", "http", "GRPC", "HTTP"}, value) && knows("--device"))
    return fmt::format("-i {} is a flag of perf_analyzer: use --device http://HOST:PORT or grpc://HOST:PORT", value);
  if (flag == "-e" && is_one_of({"cpu", "cuda", "dnnl", "rocm", "coreml", "xnnpack", "dml", "qnn"}, value) && knows("--device"))
    return fmt::format("-e {} is a flag of onnxruntime_perf_test: -e means --backend in deepgap; use --backend onnxruntime --device {}",
                       value, value == "cuda" ? "cuda:0" : "cpu");
  if (flag == "-o" && is_one_of({"csv", "json", "jsonl", "md", "sql"}, value) && knows("--store"))
    return fmt::format("-o {} is a flag of llama-bench: -o means --store in deepgap; --json prints JSON, deepgap export STORE writes rows",
                       value);
  if (is_one_of({"-a", "--axis"}, flag) && is_axis_of_nvbench(value) && knows("--axis"))
    return fmt::format("{} {} is an axis of nvbench: use --axis NAME=1,2,4, or a range such as --axis NAME=1..8*2", flag, value);
  if (flag == "--json" && knows("--export-json") && is_json_file_of_nvbench(value, others))
    return fmt::format("--json {} is a flag of nvbench: --json prints in deepgap; use --export-json FILE to write a file", value);
  if (flag == "--progress" && knows(flag) && (value.empty() || value.starts_with("-")))
    return "--progress is a flag of llama-bench: leave it out: progress is shown, and --progress json writes it for programs";
  return std::nullopt;
}

}  // namespace deepgap
