#include "backends/kserve/settings.h"

#include "base/text.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <fstream>
#include <iterator>

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

std::string read_named(const char* option, const std::string& path) {
  std::ifstream file(path);
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (!file) throw Error(ErrorKind::usage, fmt::format("kserve: {}={} cannot be read", option, path));
  return text;
}

bool is_this_machine(const std::string& host) {
  const auto is = [&](std::string_view name) {
    return host.starts_with(name) && (host.size() == name.size() || host[name.size()] == ':' || host[name.size()] == '/');
  };
  return is("127.0.0.1") || is("localhost") || is("[::1]");
}

}  // namespace

const OptionTable<KserveSettings>& kserve_options() {
  static const OptionTable<KserveSettings> table = make_table();
  return table;
}

ServerAddress server_address(const DeviceId& device, const KserveSettings& settings) {
  ServerAddress address{device.kind + "://" + device.host, "", settings.ca_file};
  if (!settings.ca_file.empty()) read_named("ca_file", settings.ca_file);  // a missing one would be told with the first connection
  const char* variable = std::getenv(token_variable);
  if (!settings.token_file.empty()) {
    address.token = trim(read_named("token_file", settings.token_file));
  } else if (variable != nullptr) {
    address.token = trim(variable);
  }
  const std::string from = settings.token_file.empty() ? std::string(token_variable) : "token_file=" + settings.token_file;
  const auto is_visible = [](char c) { return std::isgraph(static_cast<unsigned char>(c)) != 0; };
  if (!std::all_of(address.token.begin(), address.token.end(), is_visible))
    throw Error(ErrorKind::usage, fmt::format("kserve: {} holds no token: a token is one word", from));
  if (!settings.token_file.empty() && address.token.empty()) throw Error(ErrorKind::usage, fmt::format("kserve: {} is empty", from));
  const bool open = device.kind == "http" || device.kind == "grpc";
  if (!address.token.empty() && open && !is_this_machine(device.host))
    throw Error(ErrorKind::usage,
                fmt::format("kserve: the token of {} would travel unencrypted to {}: use {}s://", from, device.host, device.kind));
  return address;
}

}  // namespace deepgap
