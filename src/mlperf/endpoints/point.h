// What a submission to MLPerf Endpoints discloses of one point (section 8.3), as far as its Record says it. Pure functions.
#pragma once

#include "mlperf/endpoints/curve.h"

#include <nlohmann/json_fwd.hpp>

namespace deepgap {

// Returns the part of point.yaml that was measured or chosen for the run.
nlohmann::ordered_json endpoints_point(const EndpointsPoint& point, int64_t clients);
// Returns the rest, which a disclosure may replace: names of model and data, where src/ and docs/ are.
nlohmann::ordered_json endpoints_point_names(const EndpointsPoint& point);
// Returns config.yaml: the settings of the run.
nlohmann::ordered_json endpoints_config(const Record& record);

}  // namespace deepgap
