// Asks a child process of this program: one request, frames until its "done". What the child prints, allocates or crashes stays there.
#pragma once

#include "worker/protocol.h"

#include <functional>
#include <string>

namespace deepgap {

// Runs `deepgap COMMAND`. `on_frame` gets all frames but the last. Returns the header of "done". Throws the Error that the child answered,
// and Error{refused} "WHO killed by SIGSEGV while it WORK: ..." for one that ended otherwise.
nlohmann::json ask_child(const std::string& command, const nlohmann::json& request, const std::string& who, const std::string& work,
                         const std::function<void(const Frame&)>& on_frame = {});

}  // namespace deepgap
