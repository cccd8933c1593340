// The OpenMP threads that an engine's work runs on. oneDNN takes as many as the calling thread's OpenMP setting says.
#pragma once

#include <sched.h>

#include <vector>

namespace deepgap {

std::vector<int> allowed_cpus();  // CPUs that the calling thread may use, ascending

// While it lives, parallel regions of this thread use `threads` threads; with `cpus` not empty, thread i stays on cpus[i]. The calling
// thread gets its affinity back afterwards; the others belong to the team and keep theirs.
class TeamScope {
 public:
  TeamScope(int threads, const std::vector<int>& cpus);
  ~TeamScope();
  TeamScope(const TeamScope&) = delete;
  TeamScope& operator=(const TeamScope&) = delete;

 private:
  int previous_threads_;
  bool pinned_;
  cpu_set_t previous_{};
};

}  // namespace deepgap
