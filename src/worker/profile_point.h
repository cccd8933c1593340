// The profile of a Point as it was measured: same model, precision, batch, threads and options of the engine. Of one Session on the Point's
// first device, whatever load it was under. In a child process of its own, after everything that is timed.
#pragma once

#include "profile/layer_profile.h"

#include <deepgap/point.h>

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace deepgap {

// Returns why there is no profile of such a Point; empty: there can be.
std::string why_not_profiled(const Point& point);

struct PointProfileRequest {
  Point point;
  std::string cache_dir;
  bool watch = true, count = true;  // as in ProfileRequest
};
nlohmann::json point_profile_request_to_json(const PointProfileRequest& request);
PointProfileRequest point_profile_request_from_json(const nlohmann::json& json);

// Sets the Point's environment and pins the thread as the worker did. Throws as profile_layers().
LayerProfile profile_point(const PointProfileRequest& request);

}  // namespace deepgap
