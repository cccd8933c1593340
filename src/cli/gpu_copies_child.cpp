#include "cli/gpu_copies_child.h"

#include "base/json_fields.h"
#include "ceilings/copy_rates.h"
#include "cli/child.h"
#include "record/fact_values.h"
#include "telemetry/gpu_copies.h"
#include "telemetry/system_file.h"

#include <deepgap/error.h>

#include <map>

namespace deepgap {

template <typename V>
void fields(V& visit, CopyEnd& end) {
  visit("device", end.device);
  visit("near_cpus", end.near_cpus);
}

template <typename V>
void fields(V& visit, CopyRates& rates) {
  visit("h2d", rates.h2d);
  visit("d2h", rates.d2h);
  visit("h2d_together", rates.h2d_together);
  visit("d2h_together", rates.d2h_together);
  visit("to", rates.to);
}

namespace {

using nlohmann::json;

// What the child is asked and answers: a frame's header is an object.
struct CopiesRequest {
  std::vector<CopyEnd> ends;
};
template <typename V>
void fields(V& visit, CopiesRequest& request) {
  visit("ends", request.ends);
}
struct CopiesAnswer {
  std::vector<CopyRates> rates;
};
template <typename V>
void fields(V& visit, CopiesAnswer& answer) {
  visit("rates", answer.rates);
}

constexpr const char* copies_command = "__copies";
constexpr std::chrono::seconds timeout{300};  // pairs that copy through the host take seconds, and eight GPUs are 56 of them

const bool registered = add_child_command(copies_command, [](const json& request, FrameWriter& /*before*/) {
  return json_of(CopiesAnswer{measure_copy_rates(json_to<CopiesRequest>(request, "request for copy rates").ends)});
});

std::map<int, std::string> uuids_of(const GpuInventory& inventory) {
  std::map<int, std::string> uuids;
  for (size_t i = 0; i < inventory.gpus.size(); ++i)
    if (const std::string* uuid = fact_as<std::string>(inventory.gpus[i], "uuid")) uuids[static_cast<int>(i)] = *uuid;
  return uuids;
}

}  // namespace

void measure_gpu_copies(const GpuInventory& inventory, const std::string& cache_dir) {
  if (inventory.gpus.empty()) throw Error(ErrorKind::refused, "--copies: no GPU: " + inventory.reason);
  CopiesRequest request;
  for (size_t i = 0; i < inventory.gpus.size(); ++i) {
    const std::string* near = fact_as<std::string>(inventory.gpus[i], "near_cpus");
    request.ends.push_back(
        {static_cast<int>(i), near == nullptr ? std::vector<int>{} : parse_cpu_list(*near).value_or(std::vector<int>{})});
  }
  const json answer = call_child({copies_command, "measuring copies", json_of(request), {}, timeout});
  const auto measured = json_to<CopiesAnswer>(answer, "copy rates").rates;
  const auto uuids = uuids_of(inventory);
  for (const auto& [gpu, uuid] : uuids) {
    const CopyRates& rates = measured.at(static_cast<size_t>(gpu));
    GpuCopies copies{rates.h2d, rates.d2h, rates.h2d_together, rates.d2h_together, static_cast<int64_t>(measured.size()), {}};
    for (const auto& [other, other_uuid] : uuids)
      if (other != gpu) copies.to[other_uuid] = rates.to.at(static_cast<size_t>(other));
    keep_gpu_copies(cache_dir, uuid, copies);
  }
}

void add_kept_copies(const std::string& cache_dir, GpuInventory& inventory) {
  for (auto& [gpu, facts] : kept_copy_facts(cache_dir, uuids_of(inventory))) inventory.gpus[static_cast<size_t>(gpu)].merge(facts);
}

}  // namespace deepgap
