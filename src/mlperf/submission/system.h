// The descriptions in a submission's tree: of the system, of what was run, and of how.
#pragma once

#include <deepgap/record.h>

#include <string>

namespace deepgap {

std::string mlperf_benchmark(const Record& record);    // whose rules held: "resnet50"
std::string mlperf_system_name(const Record& record);  // for file names: letters, digits, '-' and '_'
// Returns every field that the checker asks for; "not known" where the Record has no value.
std::string mlperf_system_json(const Record& record, const std::string& submitter, const std::string& system_type);
std::string mlperf_measurements_json(const Record& record);
std::string mlperf_user_conf(const Record& record, const std::string& scenario);
std::string mlperf_scenario_readme(const Record& record, const std::string& scenario);

}  // namespace deepgap
