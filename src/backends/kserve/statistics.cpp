#include "backends/kserve/statistics.h"

#include "base/parse_json.h"

#include <nlohmann/json.hpp>

namespace deepgap {
namespace {

using json = nlohmann::json;

int64_t number_in(const json& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  return object.is_object() && found != object.end() && found->is_number_integer() ? found->get<int64_t>() : 0;
}

const json& part(const json& object, const char* key) {
  static const json none;
  if (!object.is_object()) return none;
  const auto found = object.find(key);
  return found == object.end() ? none : *found;
}

void add(const json& version, ServerStatistics& sum) {
  sum.inferences += number_in(version, "inference_count");
  sum.runs += number_in(version, "execution_count");
  const json& inference = part(version, "inference_stats");
  sum.answered += number_in(part(inference, "success"), "count");
  sum.failed += number_in(part(inference, "fail"), "count");
  sum.queue_ns += number_in(part(inference, "queue"), "ns");
  sum.input_ns += number_in(part(inference, "compute_input"), "ns");
  sum.inference_ns += number_in(part(inference, "compute_infer"), "ns");
  sum.output_ns += number_in(part(inference, "compute_output"), "ns");
}

}  // namespace

std::optional<ServerStatistics> read_statistics(std::string_view text) {
  const json read = parse_json(text);
  const json& versions = part(read, "model_stats");
  if (!versions.is_array()) return std::nullopt;
  ServerStatistics sum;
  for (const json& version : versions) add(version, sum);
  return sum;
}

std::map<std::string, double> between(const ServerStatistics& before, const ServerStatistics& after) {
  const int64_t answered = after.answered - before.answered;
  if (answered <= 0 || after.failed < before.failed) return {};
  const auto mean_ms = [&](int64_t from, int64_t to) { return static_cast<double>(to - from) / 1e6 / static_cast<double>(answered); };
  std::map<std::string, double> found{{"server.requests", static_cast<double>(answered)},
                                      {"server.failed", static_cast<double>(after.failed - before.failed)},
                                      {"server.queue_ms", mean_ms(before.queue_ns, after.queue_ns)},
                                      {"server.input_ms", mean_ms(before.input_ns, after.input_ns)},
                                      {"server.inference_ms", mean_ms(before.inference_ns, after.inference_ns)},
                                      {"server.output_ms", mean_ms(before.output_ns, after.output_ns)}};
  if (const int64_t runs = after.runs - before.runs; runs > 0)
    found["server.batch"] = static_cast<double>(after.inferences - before.inferences) / static_cast<double>(runs);
  return found;
}

}  // namespace deepgap
