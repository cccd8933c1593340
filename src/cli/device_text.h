// A row of `deepgap devices --json` as lines for people. Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace deepgap {

std::string device_text(const nlohmann::json& row);

}  // namespace deepgap
