#include "telemetry/gpu_copies.h"

#include "base/dump_json.h"
#include "base/file.h"
#include "base/gpu_fact.h"
#include "base/hash.h"
#include "base/json_fields.h"
#include "base/own_file.h"
#include "base/parse_json.h"

#include <fmt/format.h>

namespace deepgap {

template <typename V>
void fields(V& visit, GpuCopies& copies) {
  visit("h2d", copies.h2d);
  visit("d2h", copies.d2h);
  visit("h2d_together", copies.h2d_together);
  visit("d2h_together", copies.d2h_together);
  visit("gpus", copies.gpus);
  visit("to", copies.to);
}

namespace {

std::string folder_of(const std::string& cache_dir) { return cache_dir + "/copies"; }

std::string file_of(const std::string& cache_dir, const std::string& uuid) {
  return fmt::format("{}/{}.json", folder_of(cache_dir), content_hash(uuid));
}

}  // namespace

void keep_gpu_copies(const std::string& cache_dir, const std::string& uuid, const GpuCopies& copies) {
  make_directories(folder_of(cache_dir));
  replace_file(file_of(cache_dir, uuid), dump_line(json_of(copies)));
}

std::optional<GpuCopies> kept_gpu_copies(const std::string& cache_dir, const std::string& uuid) {
  const std::string file = file_of(cache_dir, uuid);
  if (cache_dir.empty() || !is_own_file(file)) return std::nullopt;
  try {
    return json_to<GpuCopies>(parse_json(read_text(file)), "file of copy rates");
  } catch (const std::exception&) {  // damaged: as if it were not measured
    return std::nullopt;
  }
}

std::map<int, Facts> kept_copy_facts(const std::string& cache_dir, const std::map<int, std::string>& uuids) {
  std::map<int, Facts> facts;
  for (const auto& [gpu, uuid] : uuids) {
    const auto copies = kept_gpu_copies(cache_dir, uuid);
    if (!copies) continue;
    Facts& own = facts[gpu];
    own["h2d_bytes_per_s"] = copies->h2d;
    own["d2h_bytes_per_s"] = copies->d2h;
    if (copies->gpus < 2) continue;
    own["h2d_together_bytes_per_s"] = copies->h2d_together;
    own["d2h_together_bytes_per_s"] = copies->d2h_together;
    own["gpus_together"] = copies->gpus;
    for (const auto& [other, other_uuid] : uuids)
      if (const auto to = copies->to.find(other_uuid); to != copies->to.end())
        own[fmt::format("copy_to_{}_bytes_per_s", other)] = to->second;
  }
  return facts;
}

void add_kept_copies(const std::string& cache_dir, Facts& environment) {
  std::map<int, std::string> uuids;
  for (const auto& [name, fact] : environment) {
    const auto known = parse_gpu_fact(name);
    if (known && known->key == "uuid" && std::holds_alternative<std::string>(fact)) uuids[known->gpu] = std::get<std::string>(fact);
  }
  for (const auto& [gpu, facts] : kept_copy_facts(cache_dir, uuids))
    for (const auto& [key, fact] : facts) environment[fmt::format("gpu.cuda{}.{}", gpu, key)] = fact;
}

}  // namespace deepgap
