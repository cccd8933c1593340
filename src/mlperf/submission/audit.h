// The results of MLPerf's audit over the logs of TEST01 and TEST04, as the verification files of a submission state them.
#pragma once

#include <string>

namespace deepgap {

// mlperf_log_accuracy.json of the accuracy run and of TEST01's: every answer that the latter logged must be the former's.
std::string verify_test01_answers(const std::string& accuracy, const std::string& test);

struct MlperfScore {
  double value = 0;
  bool is_latency = false;  // ns; else samples a second
};
// Out of mlperf_log_detail.txt of a performance run. Throws Error{input} naming `source` where it has none.
MlperfScore read_mlperf_score(const std::string& detail, const std::string& source);

// TEST01: no more than 10 % apart (20 % where the latency is very short). TEST04: the test no more than that better, or answers were
// cached.
std::string verify_test01_speed(const MlperfScore& reference, const MlperfScore& test);
std::string verify_test04_speed(const MlperfScore& reference, const MlperfScore& test);

}  // namespace deepgap
