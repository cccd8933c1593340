// MLPerf's LoadGen itself, built from its sources, run in this process with our settings.
#pragma once

#include "base/temporary_folder.h"
#include "mlperf/loadgen/settings.h"

#include <nlohmann/json.hpp>

#include <loadgen.h>
#include <query_sample_library.h>
#include <system_under_test.h>
#include <test_settings.h>

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace deepgap {

struct ReferenceRun {
  std::vector<std::vector<uint32_t>> loaded;  // each list that was to be loaded
  std::vector<std::vector<uint32_t>> issued;  // the samples of each call of IssueQuery
};

// Answers an issued query: with mlperf::QuerySamplesComplete, at once or later.
using ReferenceAnswer = std::function<void(const std::vector<mlperf::QuerySample>&)>;

// Completes samples at once with the bytes of the float `index % 1000`, as the recorded runs do; where latencies of tokens are measured,
// with the tokens `index % 1000` and 7, as int32, the first of them delivered before.
ReferenceAnswer instant_answer(const LoadgenSettings& settings);

mlperf::TestSettings reference_settings(const LoadgenSettings& settings);
ReferenceRun run_reference(const LoadgenSettings& settings, const std::filesystem::path& logs, bool trace, const ReferenceAnswer& answer);

// The entries of a detail log, in its order.
struct DetailEntry {
  std::string key;
  nlohmann::json value;
};
std::vector<DetailEntry> read_detail(const std::filesystem::path& file);

}  // namespace deepgap
