#include "telemetry/topology.h"

#include <hwloc.h>

#include <memory>
#include <type_traits>

namespace deepgap {
namespace {

struct Level {
  const char* name;
  hwloc_obj_type_t type;
};
constexpr Level counted[] = {{"cpu.sockets", HWLOC_OBJ_PACKAGE},
                             {"cpu.cores", HWLOC_OBJ_CORE},
                             {"cpu.threads", HWLOC_OBJ_PU},
                             {"cpu.numa_nodes", HWLOC_OBJ_NUMANODE}};
constexpr Level caches[] = {{"cpu.cache_l1d", HWLOC_OBJ_L1CACHE}, {"cpu.cache_l2", HWLOC_OBJ_L2CACHE}, {"cpu.cache_l3", HWLOC_OBJ_L3CACHE}};

struct Destroy {
  void operator()(hwloc_topology_t topology) const { hwloc_topology_destroy(topology); }
};
using Topology = std::unique_ptr<std::remove_pointer_t<hwloc_topology_t>, Destroy>;

// The whole machine, not only what this process may use: a Record describes the machine, `cpus.allowed` the share of it.
Topology load_topology() {
  hwloc_topology_t topology = nullptr;
  if (hwloc_topology_init(&topology) != 0) return nullptr;
  Topology owned(topology);
  if (hwloc_topology_set_flags(topology, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED) != 0) return nullptr;
  if (hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_NONE) != 0) return nullptr;
  return hwloc_topology_load(topology) == 0 ? std::move(owned) : nullptr;
}

void add_caches(hwloc_topology_t topology, Facts& facts) {
  for (const Level& cache : caches) {
    const int count = hwloc_get_nbobjs_by_type(topology, cache.type);
    const std::string name = cache.name;
    const hwloc_obj_t first = count > 0 ? hwloc_get_obj_by_type(topology, cache.type, 0) : nullptr;
    const bool known = first != nullptr && first->attr != nullptr && first->attr->cache.size > 0;
    facts[name + "_bytes"] = known ? Fact(static_cast<int64_t>(first->attr->cache.size)) : not_available("hwloc knows no such cache");
    facts[name + "_count"] = known ? Fact(int64_t{count}) : not_available("hwloc knows no such cache");
  }
}

void add_all_unavailable(std::string_view reason, Facts& facts) {
  for (const Level& level : counted) facts[level.name] = not_available(reason);
  facts["cpu.threads_per_core"] = not_available(reason);
  for (const Level& cache : caches) {
    facts[std::string(cache.name) + "_bytes"] = not_available(reason);
    facts[std::string(cache.name) + "_count"] = not_available(reason);
  }
}

Facts topology_of_this_machine() {
  Facts facts;
  const Topology topology = load_topology();
  if (!topology) {
    add_all_unavailable("hwloc cannot load the topology", facts);
    return facts;
  }
  for (const Level& level : counted) {
    const int count = hwloc_get_nbobjs_by_type(topology.get(), level.type);
    facts[level.name] = count > 0 ? Fact(int64_t{count}) : not_available("hwloc does not know");
  }
  const auto *cores = std::get_if<int64_t>(&facts["cpu.cores"]), *threads = std::get_if<int64_t>(&facts["cpu.threads"]);
  facts["cpu.threads_per_core"] = cores != nullptr && threads != nullptr ? Fact(*threads / *cores) : not_available("hwloc does not know");
  add_caches(topology.get(), facts);
  return facts;
}

}  // namespace

void add_topology(const SystemRoot& root, Facts& facts) {
  if (!root.is_real()) return add_all_unavailable("hwloc describes only the machine it runs on", facts);
  static const Facts known = topology_of_this_machine();  // hwloc visits every CPU for it
  for (const auto& [name, fact] : known) facts[name] = fact;
}

}  // namespace deepgap
