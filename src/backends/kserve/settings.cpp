#include "backends/kserve/settings.h"

#include "base/text.h"

#include <deepgap/error.h>

#include <fmt/format.h>

namespace deepgap {
namespace {

constexpr const char* token_variable = "DEEPGAP_KSERVE_TOKEN";

Nanoseconds time_between(const std::string& option, const std::string& value, Nanoseconds least, Nanoseconds most) {
  const auto time = value == "0" ? std::optional<int64_t>(0) : parse_duration(value);
  if (time && *time >= least && *time <= most) return *time;
  throw Error(ErrorKind::usage, fmt::format("kserve: {}={} is wrong, expected a time from {} to {}", option, value, format_duration(least),
                                            format_duration(most)));
}

// It is kept: none with a user or a password in it.
std::string plain_url(const std::string& value) {
  const bool plain = (value.starts_with("http://") || value.starts_with("https://")) && value.find_first_of("@?# ") == std::string::npos;
  if (plain) return value;
  throw Error(ErrorKind::usage,
              fmt::format("kserve: invalid value '{}' for metrics: expected http://host:port/path without user, password or query", value));
}

OptionTable<KserveSettings> make_table() {
  constexpr Nanoseconds s = 1'000'000'000;
  OptionTable<KserveSettings> table("kserve");
  const auto time = [&](const char* name, const char* describe, const char* otherwise, Nanoseconds KserveSettings::*field,
                        Nanoseconds least, Nanoseconds most) {
    table.row({name, describe, otherwise, false, OptionKind::duration, {"0"}, 0},
              [=](KserveSettings& settings, const std::string& value) { settings.*field = time_between(name, value, least, most); });
  };
  const auto text = [&](const char* name, const char* describe, std::string KserveSettings::*field) {
    table.row({name, describe, "", true}, [=](KserveSettings& settings, const std::string& value) { settings.*field = value; });
  };
  time("timeout", "of a request; one that takes longer has failed", "10s", &KserveSettings::timeout, 1'000'000, 50 * s);
  time("ready_within", "how long a server that is starting may take until it is ready", "0s", &KserveSettings::ready_within, 0, 300 * s);
  table.count("connections", "requests in flight at most; over HTTP each on a connection of its own that is kept",
              &KserveSettings::connections, 4096);
  table.count("channels", "over gRPC: connections that the requests in flight share", &KserveSettings::channels, 256);
  table.on_off("stream", "over gRPC: requests are messages on streams that are kept (ModelStreamInfer), not calls",
               &KserveSettings::stream);
  table.choice<bool>("tensors", "auto: as bytes where the server takes them; json: as text", &KserveSettings::binary,
                     {{"auto", true}, {"json", false}}, true);
  text("ca_file", "certificates of the authorities that a server's certificate is verified by; left out: the system's",
       &KserveSettings::ca_file);
  text("token_file", "file with a bearer token; left out: the environment's DEEPGAP_KSERVE_TOKEN, else none", &KserveSettings::token_file);
  table.row(
      {"metrics", "URL of the server's Prometheus metrics, http://host:8002/metrics, of its GPUs and the model; left out: none are read",
       "", true},
      [](KserveSettings& settings, const std::string& value) { settings.metrics = plain_url(value); });
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
