// The user's settings for a server that generates: the options of the openai backend. Plain data.
#pragma once

#include "backends/http/server_address.h"
#include "base/option_table.h"

#include <deepgap/clock.h>
#include <deepgap/point.h>

#include <string>

namespace deepgap {

enum class Endpoint { automatic, completions, chat };

struct OpenaiSettings {
  Endpoint endpoint = Endpoint::automatic;  // chat for conversations, else completions
  Nanoseconds timeout = 50'000'000'000;     // for one request, from sending to the end of its stream
  Nanoseconds ready_within = 0;             // how long a server may take until it answers
  int connections = 256;                    // requests in flight at most
  bool ignore_end = true;                   // answers are as long as asked for
  bool vendor_fields = true;                // requests use fields that OpenAI's own server does not know
  bool tokenize = true;                     // answers are counted by the server's /tokenize too
  std::string extra;                        // JSON object of more fields of a request
  std::string ca_file, token_file;          // empty: the system's authorities; $DEEPGAP_OPENAI_TOKEN, else none
  std::string metrics;                      // URL of Prometheus metrics; empty: none are read
};
const OptionTable<OpenaiSettings>& openai_options();

// Throws Error{usage} as http/server_address.h says. A path /v1 at the end of the device is left out.
ServerAddress openai_address(const DeviceId& device, const OpenaiSettings& settings);

}  // namespace deepgap
