// Calls to this program in a child process, for what must not run in this one: it loads an engine, a model or a driver, which may print,
// crash, hang or take all memory.
#pragma once

#include "worker/protocol.h"

#include <nlohmann/json.hpp>

#include <chrono>
#include <functional>
#include <optional>
#include <string>

namespace deepgap {

struct ChildCall {
  std::string command;  // name given to add_child_command()
  std::string subject;  // begins the words of an Error: "native with resnet50"
  nlohmann::json request = nlohmann::json::object();
  std::function<void(const Frame&)> on_frame = {};   // what the child sends before its answer
  std::optional<std::chrono::seconds> timeout = {};  // none: as long as it takes
};
// Returns the child's answer. Throws the Error that the child threw; Error{refused} "SUBJECT: killed by SIGSEGV: the last line it printed"
// or "SUBJECT: no answer within 20 s" where there is none. A child that breaks after its answer has answered.
nlohmann::json call_child(const ChildCall& call);

// Adds the hidden subcommand `name`, the child's side. `answer` may send frames before it returns; what it throws reaches the caller. The
// process ends without destructors once the answer is written, since engines' threads do not always end well.
using ChildAnswer = std::function<nlohmann::json(const nlohmann::json& request, FrameWriter& before)>;
bool add_child_command(const std::string& name, const ChildAnswer& answer);

}  // namespace deepgap
