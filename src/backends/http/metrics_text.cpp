#include "backends/http/metrics_text.h"

#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace deepgap {
namespace {

enum class Of { gpu, model, server };

struct Known {
  std::string_view metric, name, unit;
  bool counter;
  Of of;
};
// Names and units are those of the probes that read this machine, where they read the same.
constexpr std::array<Known, 36> known_metrics{{{"nv_gpu_power_usage", "power", "W", false, Of::gpu},
                                               {"nv_energy_consumption", "energy", "J", true, Of::gpu},
                                               {"nv_gpu_utilization", "utilization", "1", false, Of::gpu},
                                               {"nv_gpu_memory_used_bytes", "memory_used", "bytes", false, Of::gpu},
                                               {"nv_cpu_utilization", "cpu_utilization", "1", false, Of::server},
                                               {"nv_cpu_memory_used_bytes", "cpu_memory_used", "bytes", false, Of::server},
                                               {"nv_inference_pending_request_count", "pending_requests", "1", false, Of::model},
                                               {"nv_inference_request_success", "requests", "1", true, Of::model},
                                               {"nv_inference_request_failure", "failed_requests", "1", true, Of::model},
                                               {"nv_inference_exec_count", "runs", "1", true, Of::model},
                                               {"vllm:num_requests_running", "running_requests", "1", false, Of::server},
                                               {"vllm:num_requests_waiting", "pending_requests", "1", false, Of::server},
                                               {"vllm:kv_cache_usage_perc", "kv_cache_usage", "1", false, Of::server},
                                               {"vllm:gpu_cache_usage_perc", "kv_cache_usage", "1", false, Of::server},
                                               {"vllm:prefix_cache_hits_total", "cached_tokens", "1", true, Of::server},
                                               {"vllm:prefix_cache_queries_total", "cache_queried_tokens", "1", true, Of::server},
                                               {"vllm:prompt_tokens_total", "prompt_tokens", "1", true, Of::server},
                                               {"vllm:generation_tokens_total", "generated_tokens", "1", true, Of::server},
                                               {"vllm:num_preemptions_total", "preemptions", "1", true, Of::server},
                                               {"llamacpp:requests_processing", "running_requests", "1", false, Of::server},
                                               {"llamacpp:requests_deferred", "pending_requests", "1", false, Of::server},
                                               {"llamacpp:kv_cache_usage_ratio", "kv_cache_usage", "1", false, Of::server},
                                               {"llamacpp:prompt_tokens_total", "prompt_tokens", "1", true, Of::server},
                                               {"llamacpp:tokens_predicted_total", "generated_tokens", "1", true, Of::server},
                                               {"llamacpp:n_busy_slots_per_decode", "batch", "1", false, Of::server},
                                               {"sglang:num_running_reqs", "running_requests", "1", false, Of::server},
                                               {"sglang:num_queue_reqs", "pending_requests", "1", false, Of::server},
                                               {"sglang:token_usage", "kv_cache_usage", "1", false, Of::server},
                                               {"sglang:cache_hit_rate", "cache_hit_rate", "1", false, Of::server},
                                               {"sglang:prompt_tokens_total", "prompt_tokens", "1", true, Of::server},
                                               {"sglang:generation_tokens_total", "generated_tokens", "1", true, Of::server},
                                               {"tgi_queue_size", "pending_requests", "1", false, Of::server},
                                               {"tgi_batch_current_size", "batch", "1", false, Of::server},
                                               {"tgi_request_count", "requests", "1", true, Of::server},
                                               {"tgi_request_input_length_sum", "prompt_tokens", "1", true, Of::server},
                                               {"tgi_request_generated_tokens_sum", "generated_tokens", "1", true, Of::server}}};

struct Line {
  std::string_view name, labels;
  double value = 0;
};

// "name{labels} value" or "name value"; labels may hold blanks. A time may stand behind the value.
std::optional<Line> read_line(std::string_view text) {
  const size_t end = text.find_first_of("{ ");
  if (text.starts_with('#') || end == std::string_view::npos) return std::nullopt;
  Line line{text.substr(0, end), {}, 0};
  text.remove_prefix(end);
  if (text.front() == '{') {
    const size_t closing = text.rfind('}');
    if (closing == std::string_view::npos) return std::nullopt;
    line.labels = text.substr(1, closing - 1);
    text.remove_prefix(closing + 1);
  }
  const std::string rest = trim(text);
  const auto value = parse_double(std::string_view(rest).substr(0, rest.find(' ')));
  if (!value) return std::nullopt;
  line.value = *value;
  return line;
}

// The value between its quotes, as it is written; empty where there is none.
std::string_view label(std::string_view labels, std::string_view name) {
  for (size_t at = labels.find(name); at != std::string_view::npos; at = labels.find(name, at + 1)) {
    const bool begins = at == 0 || labels[at - 1] == ',' || labels[at - 1] == ' ';
    std::string_view rest = labels.substr(at + name.size());
    if (!begins || !rest.starts_with("=\"")) continue;
    rest.remove_prefix(2);
    size_t end = 0;
    while (end < rest.size() && rest[end] != '"') end += rest[end] == '\\' ? 2 : 1;
    return rest.substr(0, end);
  }
  return {};
}

}  // namespace

ServerReading read_metrics(std::string_view text, std::string_view model) {
  ServerReading reading;
  std::map<std::string, size_t, std::less<>> gpus;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const auto line = read_line(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!line) continue;
    const auto known = std::find_if(known_metrics.begin(), known_metrics.end(), [&](const Known& row) { return row.metric == line->name; });
    if (known == known_metrics.end() || (known->of == Of::model && label(line->labels, "model") != model)) continue;
    std::string name(known->name);
    if (known->of == Of::gpu)
      name += fmt::format(".gpu{}", gpus.try_emplace(std::string(label(line->labels, "gpu_uuid")), gpus.size()).first->second);
    reading[{std::move(name), std::string(known->unit), known->counter}] += line->value;
  }
  return reading;
}

}  // namespace deepgap
