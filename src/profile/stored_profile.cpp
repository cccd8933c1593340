#include "profile/stored_profile.h"

#include <deepgap/error.h>
#include "base/dump_json.h"
#include "base/json_words.h"
#include "base/parse_json.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace deepgap {
namespace {

using nlohmann::json;

constexpr int version = 1;

}  // namespace

std::string stored_profile_text(const StoredProfile& stored) {
  const json object{{"version", version},
                    {"taken_unix_ns", stored.taken_unix_ns},
                    {"precision", stored.header.precision},
                    {"threads", stored.header.threads},
                    {"device", stored.header.device},
                    {"last_cache_bytes", stored.last_cache_bytes},
                    {"ceilings", stored.machine.missing.empty() ? ceilings_to_json(stored.machine.ceilings) : json(nullptr)},
                    {"ceilings_missing", stored.machine.missing},
                    {"profile", layer_profile_to_json(stored.profile)}};
  return dump_line(object);
}

StoredProfile parse_stored_profile(std::string_view text) {
  const json object = parse_json(text);
  if (!object.is_object()) throw Error(ErrorKind::input, "damaged profile: it is not JSON");
  try {
    if (const int found = object.at("version"); found > version)
      throw Error(ErrorKind::input, fmt::format("a profile made by a newer deepgap (version {}; this one knows {})", found, version));
    StoredProfile stored;
    object.at("taken_unix_ns").get_to(stored.taken_unix_ns);
    object.at("precision").get_to(stored.header.precision);
    object.at("threads").get_to(stored.header.threads);
    object.at("device").get_to(stored.header.device);
    object.at("last_cache_bytes").get_to(stored.last_cache_bytes);
    object.at("ceilings_missing").get_to(stored.machine.missing);
    if (!object.at("ceilings").is_null()) stored.machine.ceilings = ceilings_from_json(object.at("ceilings"));
    stored.profile = layer_profile_from_json(object.at("profile"));
    stored.header.batch = stored.profile.batch;
    return stored;
  } catch (const json::exception& error) {
    throw Error(ErrorKind::input, fmt::format("damaged profile: {}", json_words(error)));
  }
}

}  // namespace deepgap
