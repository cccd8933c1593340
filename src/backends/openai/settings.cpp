#include "backends/openai/settings.h"

#include "base/messages.h"
#include "base/parse_json.h"
#include "base/text.h"

#include <deepgap/error.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace deepgap {
namespace {

constexpr const char* token_variable = "DEEPGAP_OPENAI_TOKEN";

std::string json_object(const std::string& value) {
  const auto object = parse_json(value);
  if (!object.is_object())
    throw Error(ErrorKind::usage, invalid_value(value, "openai: extra", "a JSON object of fields, such as {\"top_p\":0.9}"));
  for (const char* own : {"model", "prompt", "messages", "stream", "stream_options", "max_tokens", "n"})
    if (object.contains(own)) throw Error(ErrorKind::usage, fmt::format("openai: extra: the field '{}' is deepgap's own", own));
  return value;
}

OptionTable<OpenaiSettings> make_table() {
  constexpr Nanoseconds s = 1'000'000'000;
  OptionTable<OpenaiSettings> table("openai");
  const auto text = [&](const char* name, const char* describe, std::string OpenaiSettings::*field) {
    table.text(name, describe, field).process_wide();
  };
  table.choice("endpoint", "auto: /v1/chat/completions for conversations, else /v1/completions; or one for all", &OpenaiSettings::endpoint,
               {{"auto", Endpoint::automatic}, {"completions", Endpoint::completions}, {"chat", Endpoint::chat}});
  table.duration("timeout", "of a request, from sending to the end of its answer; one that takes longer has failed",
                 &OpenaiSettings::timeout, 1'000'000, 3600 * s);
  table.duration("ready_within", "how long a server that is starting may take until it answers", &OpenaiSettings::ready_within, 0, 300 * s);
  table.count("connections", "requests in flight at most, each on a connection of its own that is kept", &OpenaiSettings::connections, 1,
              4096);
  table.on_off("ignore_end", "whether answers go on after the model's end of text, so that they are as long as --output-tokens says",
               &OpenaiSettings::ignore_end);
  table.on_off("vendor_fields", "whether requests ask for token counts in each chunk, by fields that not all servers know",
               &OpenaiSettings::vendor_fields);
  table.on_off("tokenize", "whether the server's /tokenize, where it has one, counts the tokens of some answers after each window",
               &OpenaiSettings::tokenize);
  table.row({"extra", "JSON object of more fields of each request: {\"top_p\":0.9}", ""},
            [](OpenaiSettings& settings, const std::string& value) { settings.extra = json_object(value); });
  text("ca_file", "certificates of the authorities that a server's certificate is verified by [default: the system's]",
       &OpenaiSettings::ca_file);
  text("token_file", "file with a bearer token [default: the environment variable DEEPGAP_OPENAI_TOKEN, else none]",
       &OpenaiSettings::token_file);
  add_metrics_url(table, "URL of the server's Prometheus metrics, such as http://host:8000/metrics [default: none are read]",
                  &OpenaiSettings::metrics);
  return table;
}

}  // namespace

const OptionTable<OpenaiSettings>& openai_options() {
  static const OptionTable<OpenaiSettings> table = make_table();
  return table;
}

ServerAddress openai_address(const DeviceId& device, const OpenaiSettings& settings) {
  ServerAddress address = server_address(device, {"openai", token_variable, settings.token_file, settings.ca_file});
  while (address.base.ends_with('/')) address.base.pop_back();
  if (address.base.ends_with("/v1")) address.base.resize(address.base.size() - 3);
  return address;
}

}  // namespace deepgap
