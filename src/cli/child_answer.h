// A question to a hidden subcommand of this program in a child process: what it asks (an engine, a driver) may crash or hang there, and
// this process goes on.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace deepgap {

struct ChildAnswer {
  std::optional<std::string> text;  // JSON that parses
  std::string reason;               // why there is none: "killed by SIGSEGV: last line", "did not answer within 30 s"
};
ChildAnswer ask_child(const std::vector<std::string>& arguments, std::chrono::seconds patience);

// The child's side.
void answer_parent(const nlohmann::json& answer);

}  // namespace deepgap
