#include "base/dump_json.h"

#include <nlohmann/json.hpp>

namespace deepgap {

std::string dump_line(const nlohmann::json& json) { return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace); }
std::string dump_ascii_line(const nlohmann::json& json) { return json.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace); }
std::string dump_indented(const nlohmann::json& json) { return json.dump(2, ' ', true, nlohmann::json::error_handler_t::replace); }
std::string dump_indented(const nlohmann::ordered_json& json) { return json.dump(2, ' ', true, nlohmann::json::error_handler_t::replace); }

}  // namespace deepgap
