// ServerAddress: a server as requests to it are made, and where the token for it comes from.
#pragma once

#include "base/option_table.h"

#include <deepgap/point.h>

#include <string>

namespace deepgap {

// "http://host:8000/prefix", and the bearer token, which is sent to nobody else and never kept.
struct ServerAddress {
  std::string base;
  std::string token;
  std::string ca_file;
};

// The user's settings for access to a server, for the engine that begins the messages.
struct ServerAccess {
  std::string engine;
  std::string token_variable;  // name of an environment variable
  std::string token_file;      // goes first; empty: the variable
  std::string ca_file;         // empty: the system's authorities
};

// Throws Error{usage} for a file that cannot be read, a token that is not a single word, and one that would travel unencrypted to another
// machine.
ServerAddress server_address(const DeviceId& device, const ServerAccess& access);

// Adds the option `metrics`, the URL of a server's metrics. The store keeps it, so it may hold no user and no password.
template <typename Settings>
void add_metrics_url(OptionTable<Settings>& table, const std::string& describe, std::string Settings::*field) {
  table.row({"metrics", describe, "", true}, "http://host:port/path without user, password or query, such as http://127.0.0.1:8000/metrics",
            [field](Settings& settings, const std::string& url) {
              settings.*field = url;
              return (url.starts_with("http://") || url.starts_with("https://")) && url.find_first_of("@?# ") == std::string::npos;
            });
}

}  // namespace deepgap
