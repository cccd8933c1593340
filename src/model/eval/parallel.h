// Work shared among the CPUs this process may use. Items must not depend on one another: which thread runs which item never changes a
// result.
#pragma once

#include <cstdint>
#include <functional>

namespace deepgap {

// Calls work(0) .. work(count - 1), each once, and returns when all are done; the first exception is thrown again. `weight` is the rough
// number of operations of one item: too little work stays on the calling thread.
void parallel_for(int64_t count, double weight, const std::function<void(int64_t)>& work);

// Threads that the evaluator and the seeded weights use; 0 (the default) is all that the affinity mask allows. Not thread-safe.
void set_evaluator_threads(int threads);

}  // namespace deepgap
