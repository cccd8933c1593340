#include "backends/http/server_address.h"

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

std::string read_named(const std::string& engine, const char* option, const std::string& path) {
  std::ifstream file(path);
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (!file) throw Error(ErrorKind::usage, fmt::format("{}: {}={} cannot be read", engine, option, path));
  return text;
}

bool is_this_machine(const std::string& host) {
  const auto is = [&](std::string_view name) {
    return host.starts_with(name) && (host.size() == name.size() || host[name.size()] == ':' || host[name.size()] == '/');
  };
  return is("127.0.0.1") || is("localhost") || is("[::1]");
}

}  // namespace

ServerAddress server_address(const DeviceId& device, const ServerAccess& access) {
  ServerAddress address{device.kind + "://" + device.host, "", access.ca_file};
  // A missing one would be found with the first connection.
  if (!access.ca_file.empty()) read_named(access.engine, "ca_file", access.ca_file);
  const char* variable = std::getenv(access.token_variable.c_str());
  if (!access.token_file.empty()) {
    address.token = trim(read_named(access.engine, "token_file", access.token_file));
  } else if (variable != nullptr) {
    address.token = trim(variable);
  }
  const std::string from = access.token_file.empty() ? access.token_variable : "token_file=" + access.token_file;
  const auto is_visible = [](char c) { return std::isgraph(static_cast<unsigned char>(c)) != 0; };
  if (!std::all_of(address.token.begin(), address.token.end(), is_visible))
    throw Error(ErrorKind::usage, fmt::format("{}: {} holds no token: a token is one word", access.engine, from));
  if (!access.token_file.empty() && address.token.empty())
    throw Error(ErrorKind::usage, fmt::format("{}: {} is empty", access.engine, from));
  const bool open = device.kind == "http" || device.kind == "grpc";
  if (!address.token.empty() && open && !is_this_machine(device.host))
    throw Error(ErrorKind::usage, fmt::format("{}: the token of {} would travel unencrypted to {}: use {}s://", access.engine, from,
                                              device.host, device.kind));
  return address;
}

}  // namespace deepgap
