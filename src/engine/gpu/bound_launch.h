// A Launch that is ready to go: its function found, its arguments filled in.
#pragma once

#include "cuda/objects.h"
#include "engine/gpu/launch.h"
#include "engine/gpu/library_call.h"

#include <vector>

namespace deepgap::gpu {

// Copies share what they hold; any thread with the context current.
class BoundLaunch {
 public:
  // `function`: of a module that outlives this; of a library's call nullptr. Throws Error{refused} where the driver has no tile
  // descriptions and they are needed.
  BoundLaunch(const Launch& launch, cuda::Function function, const AddressOf& address);
  void run(cuda::StreamHandle stream) const { launch(stream, overlaps_previous_); }
  // Begins when the launch before it has ended, so that a measured time is its own: a launch that begins earlier waits within its
  // time.
  void run_by_itself(cuda::StreamHandle stream) const { launch(stream, false); }

 private:
  void launch(cuda::StreamHandle stream, bool overlapping) const;

  struct alignas(64) Slot {
    cuda::TensorMap bytes;
  };
  std::vector<Slot> slots_;
  cuda::LaunchConfig config_{};
  bool overlaps_previous_ = false;
  unsigned cluster_ = 1;
  cuda::Function function_ = nullptr;
  LibraryCall::Run call_;  // a library's call
};

}  // namespace deepgap::gpu
