// Asks a server before anything is measured which models it has, and whether it streams.
#pragma once

#include "backends/openai/settings.h"

#include <cstdint>
#include <string>

namespace deepgap {

struct ServedGenerator {
  std::string model;   // as requests name it
  std::string server;  // and its version, if it says
};

// Throws Error{refused} for a server that is not there or does not speak the protocol; {usage} for a model that it does not have.
ServedGenerator ask_for_generator(const ServerAddress& address, const std::string& model, const OpenaiSettings& settings);

struct StreamCheck {
  bool takes_vendor_fields = true;
  int64_t template_tokens = 0;  // that a chat's prompt has besides its words
  bool keeps_connections = true;
};
// Sends one request of an answer, whose times do not count, and asks for the models once more. Throws Error{refused} where no stream of
// tokens comes back.
StreamCheck check_stream(const ServerAddress& address, const std::string& model, bool is_chat, const OpenaiSettings& settings);

}  // namespace deepgap
