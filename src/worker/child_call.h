// One question to a child process of this program, and its answer: what must not run in the parent, since it loads an engine or a model
// or may crash.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <functional>
#include <string>

namespace deepgap {

// Starts `deepgap COMMAND`, which must call serve_call(), and returns its answer. Throws the Error that the child threw; Error{refused}
// "SUBJECT was killed by SIGSEGV: (end of its output)" where it ended without an answer.
nlohmann::json call_child(const std::string& command, const nlohmann::json& request, const std::string& subject);

// The child's side. Returns the exit code. Ends the process without destructors once the answer is written: engines' threads do not always
// end well.
int serve_call(int channel, const std::function<nlohmann::json(const nlohmann::json&)>& answer);

}  // namespace deepgap
