#include "mlperf/submission/audit.h"

#include "base/text.h"

#include <deepgap/error.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <map>

namespace deepgap {
namespace {

using Json = nlohmann::json;

std::string result(bool pass) { return pass ? "TEST PASS\n" : "TEST FAIL\n"; }

std::map<int64_t, std::string> answers_of(const std::string& log) {
  std::map<int64_t, std::string> answers;
  for (const Json& entry : Json::parse(log)) answers[entry.at("qsl_idx")] = entry.at("data");
  return answers;
}

// 200 us in SingleStream and 1.6 ms in MultiStream, for eight samples: noise is a larger part of what is so short.
double allowed_share(const MlperfScore& reference) { return reference.is_latency && reference.value <= 200000 ? 0.2 : 0.1; }

std::string scores(const MlperfScore& reference, const MlperfScore& test) {
  const char* unit = reference.is_latency ? "ns" : "samples/s";
  return fmt::format("reference score = {:g} {}\ntest score = {:g} {}\n", reference.value, unit, test.value, unit);
}

}  // namespace

std::string verify_test01_answers(const std::string& accuracy, const std::string& test) {
  const auto expected = answers_of(accuracy);
  int64_t equal = 0, different = 0;
  for (const Json& entry : Json::parse(test)) {
    const auto found = expected.find(entry.at("qsl_idx").get<int64_t>());
    ++(found != expected.end() && found->second == entry.at("data").get<std::string>() ? equal : different);
  }
  return fmt::format("{} answers of the performance run were compared with the accuracy run's; {} differ\n", equal + different, different) +
         result(different == 0 && equal > 0);
}

MlperfScore read_mlperf_score(const std::string& detail, const std::string& source) {
  const std::map<std::string, bool> keys{{"early_stopping_latency_ss", true},
                                         {"early_stopping_latency_ms", true},
                                         {"result_completed_samples_per_sec", false},
                                         {"result_samples_per_second", false}};
  for (const std::string& line : split(detail, '\n')) {
    const size_t brace = line.find('{');
    if (brace == std::string::npos) continue;
    const Json entry = Json::parse(line.substr(brace), nullptr, false);
    const auto found = entry.is_object() ? keys.find(entry.value("key", "")) : keys.end();
    if (found != keys.end() && entry.at("value").is_number()) return {entry.at("value").get<double>(), found->second};
  }
  throw Error(ErrorKind::input, fmt::format("{} has no score: it is not a complete log of a performance run", source));
}

std::string verify_test01_speed(const MlperfScore& reference, const MlperfScore& test) {
  const bool pass = reference.value > 0 && std::abs(test.value / reference.value - 1) <= allowed_share(reference);
  return scores(reference, test) + result(pass);
}

std::string verify_test04_speed(const MlperfScore& reference, const MlperfScore& test) {
  const double share = allowed_share(reference);
  const bool pass = reference.is_latency ? test.value >= reference.value * (1 - share) : test.value <= reference.value * (1 + share);
  return scores(reference, test) + result(pass && test.value > 0);
}

}  // namespace deepgap
