// Watches what any CUDA engine of this process does on its devices, through CUPTI's activity records. Costs about a microsecond a launch,
// so never within what is timed. Needs no rights.
//
// One at a time; begin(), announce() and end() from one thread, whose launches alone are led back to layers. Work that is under way on
// another stream or thread is recorded too.
#pragma once

#include "kernels/cupti_api.h"
#include "kernels/trace.h"

#include <memory>
#include <string>

namespace deepgap {

class Tracer {
 public:
  // Throws Error{refused} where CUPTI cannot be used.
  explicit Tracer(const cupti::Api& api = cupti::api());
  ~Tracer();
  Tracer(const Tracer&) = delete;
  Tracer& operator=(const Tracer&) = delete;

  void begin();
  // Launches from here on belong to this layer, until the next one is announced or the trace ends.
  void announce(const std::string& name, const std::string& op);
  // REQUIRES that the device has done what it was given: synchronise first. Families are not set.
  Trace end();

 private:
  void leave_layer();
  void stop();
  const cupti::Api& api_;
  bool running_ = false, in_layer_ = false;
  std::vector<TracedLayer> layers_;
};

// Returns "void f<int>(float*)" for "_Z1fIiEvPf"; a name that is not mangled stays as it is.
std::string demangled(const char* name);

}  // namespace deepgap
