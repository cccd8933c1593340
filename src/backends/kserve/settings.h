// The user's settings for a server: the device's URL and the options. Plain data.
#pragma once

#include "backends/http/server_address.h"
#include "base/option_table.h"

#include <deepgap/clock.h>
#include <deepgap/point.h>

#include <string>

namespace deepgap {

struct KserveSettings {
  Nanoseconds timeout = 10'000'000'000;  // for one request, from sending to the last byte of the answer
  Nanoseconds ready_within = 0;          // how long a server may take until it is ready
  int connections = 64;                  // requests in flight at most
  int channels = 1;                      // connections that the requests in flight share, over gRPC
  bool binary = true;                    // tensors as bytes, where the server takes them
  bool stream = false;                   // over gRPC: requests are messages on streams, not calls
  std::string ca_file, token_file;       // empty: the system's authorities; $DEEPGAP_KSERVE_TOKEN, else none
  std::string metrics;                   // URL of Prometheus metrics; empty: none are read
};
const OptionTable<KserveSettings>& kserve_options();

// Throws as http/server_address.h says.
ServerAddress server_address(const DeviceId& device, const KserveSettings& settings);

}  // namespace deepgap
