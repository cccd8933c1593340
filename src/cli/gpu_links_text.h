// How the GPUs of a machine are connected, as tables for people: what `deepgap devices` prints below its devices.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace deepgap {

// `rows` are those of `deepgap devices --json`. Returns the paths between several GPUs and the copy rates that are known; else nothing.
std::string gpu_links_text(const nlohmann::json& rows);

}  // namespace deepgap
