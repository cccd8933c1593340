#include "base/dump_json.h"

#include <nlohmann/json.hpp>

namespace deepgap {

namespace {

template <typename Json>
std::string lines_of(const Json& json) {
  return json.dump(2, ' ', true, Json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string dump_line(const nlohmann::json& json) { return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace); }
std::string dump_ascii_line(const nlohmann::json& json) { return json.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace); }
std::string dump_indented(const nlohmann::json& json) { return lines_of(json); }
std::string dump_indented(const nlohmann::ordered_json& json) { return lines_of(json); }

}  // namespace deepgap
