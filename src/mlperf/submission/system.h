// The descriptions in a submission's tree: of the system, of what was run, and of how.
#pragma once

#include <deepgap/record.h>

#include <string>

namespace deepgap {

inline constexpr const char* mlperf_unknown = "not known";
// Facts for people: mlperf_unknown where there is none. The size is that of a number of bytes.
std::string mlperf_known(const Record& record, const std::string& key);
std::string mlperf_size(const Record& record, const std::string& key);
bool mlperf_on_gpu(const Record& record);
// Returns the key of a fact of the first GPU: "gpu.cuda0.name".
std::string mlperf_gpu_key(const Record& record, const char* what);

std::string mlperf_benchmark(const Record& record);    // whose rules held: "resnet50"
std::string mlperf_system_name(const Record& record);  // for file names: letters, digits, '-' and '_'
// Returns every field that the checker asks for; "not known" where the Record has no value.
std::string mlperf_system_json(const Record& record, const std::string& submitter, const std::string& system_type);
std::string mlperf_measurements_json(const Record& record);
std::string mlperf_user_conf(const Record& record, const std::string& scenario);
std::string mlperf_scenario_readme(const Record& record, const std::string& scenario);

}  // namespace deepgap
