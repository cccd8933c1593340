// Sockets, cores, threads, caches and memory nodes, by hwloc. hwloc sees only the machine it runs on: for another root every fact says so.
#pragma once

#include "telemetry/system_file.h"

namespace deepgap {

// cpu.sockets, cpu.cores, cpu.threads, cpu.threads_per_core, cpu.numa_nodes, cpu.cache_l{1d,2,3}_bytes (of one cache) and _count.
void add_topology(const SystemRoot& root, Facts& facts);

}  // namespace deepgap
