#include "ceilings/ceilings.h"

#include <deepgap/error.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace deepgap {

using nlohmann::json;

json ceilings_to_json(const Ceilings& ceilings) {
  json object{{"threads", ceilings.threads}, {"seconds", ceilings.seconds}, {"compute", json::array()}, {"memory", json::array()}};
  for (const ComputeCeiling& compute : ceilings.compute)
    object["compute"].push_back({{"precision", compute.precision},
                                 {"kernel", compute.kernel},
                                 {"flop_per_s", compute.flop_per_s},
                                 {"median_flop_per_s", compute.median_flop_per_s}});
  for (const MemoryCeiling& memory : ceilings.memory)
    object["memory"].push_back({{"footprint_bytes", memory.footprint_bytes},
                                {"read_bytes_per_s", memory.read_bytes_per_s},
                                {"triad_bytes_per_s", memory.triad_bytes_per_s},
                                {"median_bytes_per_s", memory.median_bytes_per_s}});
  return object;
}

Ceilings ceilings_from_json(const json& object) {
  try {
    Ceilings ceilings;
    object.at("threads").get_to(ceilings.threads);
    object.at("seconds").get_to(ceilings.seconds);
    for (const json& row : object.at("compute"))
      ceilings.compute.push_back({row.at("precision"), row.at("kernel"), row.at("flop_per_s"), row.at("median_flop_per_s")});
    for (const json& row : object.at("memory"))
      ceilings.memory.push_back(
          {row.at("footprint_bytes"), row.at("read_bytes_per_s"), row.at("triad_bytes_per_s"), row.at("median_bytes_per_s")});
    return ceilings;
  } catch (const json::exception& error) {
    throw Error(ErrorKind::input, fmt::format("these are no ceilings: {}", error.what()));
  }
}

json ceilings_request_to_json(const CeilingsRequest& request) {
  return {{"cpus", request.cpus}, {"last_cache_bytes", request.last_cache_bytes}, {"memory_bytes", request.memory_bytes}};
}

CeilingsRequest ceilings_request_from_json(const json& object) {
  return {object.at("cpus").get<std::vector<int>>(), object.at("last_cache_bytes"), object.at("memory_bytes")};
}

}  // namespace deepgap
