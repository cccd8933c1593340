// A ModelRequest as JSON, on its way to a child process.
#pragma once

#include "model/model_source.h"

#include <nlohmann/json_fwd.hpp>

namespace deepgap {

nlohmann::json model_request_to_json(const ModelRequest& request);
ModelRequest model_request_from_json(const nlohmann::json& json);

}  // namespace deepgap
