// Threads that stay on CPUs of their own and do the same work at the same time.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

namespace deepgap {

// Runs work(i) on a thread pinned to cpus[i], `rounds` times, all threads beginning each round together. Returns the seconds of each
// round, from the first to begin to the last to end. Where a CPU cannot be had, its thread runs where the system puts it.
std::vector<double> run_together(const std::vector<int>& cpus, int rounds, const std::function<void(size_t thread)>& work);

}  // namespace deepgap
