#include "backends/kserve/settings.h"

#include "base/text.h"

#include <deepgap/error.h>

#include <fmt/format.h>

namespace deepgap {
namespace {

constexpr const char* token_variable = "DEEPGAP_KSERVE_TOKEN";

OptionTable<KserveSettings> make_table() {
  constexpr Nanoseconds s = 1'000'000'000;
  OptionTable<KserveSettings> table("kserve");
  const auto text = [&](const char* name, const char* describe, std::string KserveSettings::*field) {
    table.text(name, describe, field).process_wide();
  };
  table.duration("timeout", "of a request; one that takes longer has failed", &KserveSettings::timeout, 1'000'000, 50 * s);
  table.duration("ready_within", "how long a server that is starting may take until it is ready", &KserveSettings::ready_within, 0,
                 300 * s);
  table.count("connections", "requests in flight at most; over HTTP each on a connection of its own that is kept",
              &KserveSettings::connections, 1, 4096);
  table.count("channels", "over gRPC: connections that the requests in flight share", &KserveSettings::channels, 1, 256);
  table.on_off("stream", "over gRPC: requests are messages on streams that are kept (ModelStreamInfer), not calls",
               &KserveSettings::stream);
  table
      .choice("tensors", "auto: as bytes where the server takes them; json: as text", &KserveSettings::binary,
              {{"auto", true}, {"json", false}})
      .process_wide();
  text("ca_file", "certificates of the authorities that a server's certificate is verified by [default: the system's]",
       &KserveSettings::ca_file);
  text("token_file", "file with a bearer token [default: the environment variable DEEPGAP_KSERVE_TOKEN, else none]",
       &KserveSettings::token_file);
  add_metrics_url(table,
                  "URL of the server's Prometheus metrics, http://host:8002/metrics, of its GPUs and the model [default: none are read]",
                  &KserveSettings::metrics);
  return table;
}

}  // namespace

const OptionTable<KserveSettings>& kserve_options() {
  static const OptionTable<KserveSettings> table = make_table();
  return table;
}

ServerAddress server_address(const DeviceId& device, const KserveSettings& settings) {
  return server_address(device, {"kserve", token_variable, settings.token_file, settings.ca_file});
}

}  // namespace deepgap
