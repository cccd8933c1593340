// The output of `deepgap recommend`, for people and as JSON. Pure functions.
#pragma once

#include "analysis/decide/recommend.h"

#include <string>

namespace deepgap {

std::string recommendation_text(const Recommendation& found, const Workload& workload, const Demand& demand, const std::string& currency);
// {choice, runners_up, would_change, unknown, nearest}; what is not there is null.
std::string recommendation_json(const Recommendation& found, const Workload& workload, const Demand& demand, const std::string& currency);

}  // namespace deepgap
