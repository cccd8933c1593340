// Takes the profile of a network on an engine: for `deepgap profile`. Runs in a child process of its own.
#pragma once

#include "profile/layer_profile.h"
#include "worker/sample_outputs.h"

#include <nlohmann/json_fwd.hpp>

namespace deepgap {

struct ProfileRequest {
  OutputsRequest engine;  // `samples` of it are cycled in a batch
  int64_t batch = 0;      // 0: 1, or what the model insists on
  int rounds = 0;         // 0: as many as fit into some seconds
  bool watch = true;      // a GPU's kernels, where CUPTI can be used
  bool count = true;      // and its counters, where this user may read them; not without watching
};
nlohmann::json profile_request_to_json(const ProfileRequest& request);
ProfileRequest profile_request_from_json(const nlohmann::json& json);

// Runs rounds of one plain and one instrumented run each, so that what disturbs the machine hits both alike. An engine that takes times
// only if asked at load (an option `profile`) is loaded twice. Throws Error{refused} for an engine that reports no layer times.
LayerProfile profile_layers(const ProfileRequest& request);

}  // namespace deepgap
